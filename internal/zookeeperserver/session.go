package zookeeperserver

import (
	"encoding/binary"
	"fmt"
	"io"
)

// EndSession ends a session, whoever it belongs to, as if it had expired: its ephemeral nodes are gone when EndSession
// returns, and its client is told that it has expired. If the server knows no such session, it returns an error.
//
// It connects with the id of the session and closes it. A server derives the password of a session from its id, so that
// all servers of an ensemble know it.
func (s *Server) EndSession(id int64) error {
	found := false
	err := await(fmt.Sprintf("session %#x ends", id), func() error {
		known, err := s.endSession(id)
		found = found || known || err != nil // the lost answer may have been that the session has ended
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%v knows no session %#x", s, id)
	}
	return err
}

// endSession tries to end a session, and reports whether it existed. Its client may reconnect to it meanwhile, which
// ends the connection.
func (s *Server) endSession(id int64) (known bool, err error) {
	conn, err := s.dial()
	if err != nil {
		return false, err
	}
	defer conn.Close()
	password := passwordOf(id)
	var hello []byte
	hello = binary.BigEndian.AppendUint32(hello, 0) // version of the protocol
	hello = binary.BigEndian.AppendUint64(hello, 0) // last transaction seen
	hello = binary.BigEndian.AppendUint32(hello, 10_000)
	hello = binary.BigEndian.AppendUint64(hello, uint64(id))
	hello = binary.BigEndian.AppendUint32(hello, uint32(len(password)))
	hello = append(append(hello, password...), 0)
	var bye []byte
	bye = binary.BigEndian.AppendUint32(bye, 1)             // number of the request
	bye = binary.BigEndian.AppendUint32(bye, ^uint32(11)+1) // -11, closeSession
	if err := send(conn, hello, bye); err != nil {
		return false, err
	}
	welcome, err := receive(conn)
	if err != nil {
		return false, fmt.Errorf("connecting: %w", err)
	}
	if len(welcome) < 16 || binary.BigEndian.Uint64(welcome[8:]) != uint64(id) {
		return false, nil
	}
	answer, err := receive(conn)
	if err != nil {
		return false, fmt.Errorf("closing: %w", err)
	}
	if len(answer) < 16 || binary.BigEndian.Uint32(answer[12:]) != 0 {
		return false, fmt.Errorf("closing: the server answers %x", answer)
	}
	return true, nil
}

// maxPacket is larger than any answer read here.
const maxPacket = 1 << 10

// send writes packets with a single call.
func send(conn io.Writer, packets ...[]byte) error {
	var all []byte
	for _, p := range packets {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(p))), p...)
	}
	_, err := conn.Write(all)
	return err
}

// receive reads a packet.
func receive(conn io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxPacket {
		return nil, fmt.Errorf("the answer has %d bytes", n)
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(conn, answer)
	return answer, err
}

// passwordOf returns the password of a session: the first 16 bytes of a java.util.Random that is seeded with the id and
// a secret that is the same everywhere. See generatePasswd in ZooKeeperServer.java.
func passwordOf(id int64) (password []byte) {
	const (
		superSecret = 0xB3415C00
		multiplier  = 0x5DEECE66D
		mask        = 1<<48 - 1
	)
	seed := (uint64(id) ^ superSecret ^ multiplier) & mask
	for len(password) < 16 {
		seed = (seed*multiplier + 0xB) & mask
		password = binary.LittleEndian.AppendUint32(password, uint32(seed>>16))
	}
	return password
}
