package zookeeper

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// The client library reserves memory for as much as a packet announces, and panics on some that are cut short. So a few
// bytes from a server that lies would end the program. Packets reach the library only once they have arrived, and
// only if it can read them.

// maxPacket is the size of the largest packet: a listing of some millions of names.
const maxPacket = 128 << 20

// keptBuffer is the size of the largest buffer that is kept for the next packet.
const keptBuffer = 64 << 10

// maxHello and minHello are the sizes of the server's first packet: protocol, timeout, session, and a password.
const maxHello, minHello = 1 << 10, 4 + 4 + 8 + 4

// headerSize is the size of what precedes an answer: number of the request, transaction, error.
const headerSize = 4 + 8 + 4

// Types of requests whose answers the library reads without enough care.
const (
	opGetData      = 4
	opGetACL       = 6
	opGetChildren  = 8
	opGetChildren2 = 12
	opMulti        = 14
)

// Types of results in the answer to opMulti, and the size of a zk.Stat.
const (
	resultError   = -1
	resultCreate  = 1
	resultDelete  = 2
	resultSetData = 5
	resultCheck   = 13
	statSize      = 68
)

var errBadPacket = errors.New("the server sent what cannot be an answer: it is no ZooKeeper server, or somebody " +
	"changes what it sends")

// packets reads packets of a server.
type packets struct {
	in      *bufio.Reader
	packet  bytes.Buffer // what the library has not read yet
	greeted bool         // the first packet has arrived

	mu    sync.Mutex
	asked map[int32]int32 // the types of requests that were not answered, by number
}

// Read implements io.Reader.
func (p *packets) Read(b []byte) (int, error) {
	if p.packet.Len() == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	return p.packet.Read(b)
}

// next reads a whole packet, and checks it.
func (p *packets) next() error {
	var length [4]byte
	if _, err := io.ReadFull(p.in, length[:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(length[:]))
	if size > maxPacket || size < headerSize || !p.greeted && (size > maxHello || size < minHello) {
		return errBadPacket
	}
	if p.packet.Cap() > keptBuffer {
		p.packet = bytes.Buffer{}
	}
	p.packet.Reset()
	p.packet.Write(length[:])
	if _, err := io.CopyN(&p.packet, p.in, size); err != nil { // this grows with what arrives
		p.packet.Reset()
		return err
	}
	body := p.packet.Bytes()[len(length):]
	if p.greeted && !p.isAnswer(body) || !p.greeted && !isHello(body) {
		p.packet.Reset()
		return errBadPacket
	}
	p.greeted = true
	return nil
}

// noteRequest notes the type of a request that is sent, for its answer.
func (p *packets) noteRequest(packet []byte) {
	if len(packet) < 12 {
		return
	}
	number, op := int32At(packet, 4), int32At(packet, 8)
	if number <= 0 { // the first packet of a session is no request: its bytes may look like one
		return
	}
	switch op {
	case opGetData, opGetACL, opGetChildren, opGetChildren2, opMulti:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.asked == nil {
			p.asked = map[int32]int32{}
		}
		p.asked[number] = op
	}
}

// isHello reports whether the library can read the server's first packet.
func isHello(body []byte) bool {
	timeout, session := int32At(body, 4), binary.BigEndian.Uint64(body[8:])
	return (timeout > 0 || session == 0) && int(int32At(body, 16)) <= len(body)-minHello
}

// isAnswer reports whether the library can read a packet.
func (p *packets) isAnswer(packet []byte) bool {
	p.mu.Lock()
	op := p.asked[int32At(packet, 0)]
	delete(p.asked, int32At(packet, 0))
	p.mu.Unlock()
	body := packet[headerSize:]
	if op == 0 || int32At(packet, 12) != 0 {
		return true
	}
	switch {
	case op == opMulti:
		return isAnswerToMulti(body)
	case len(body) < 4:
		return false
	case op == opGetData:
		return int(int32At(body, 0)) <= len(body)-4
	}
	// each element has a length of its own
	return int64(binary.BigEndian.Uint32(body)) <= int64(len(body)-4)/4
}

// isAnswerToMulti reports whether the answer to several requests ends where its results end. Each has a type, a mark
// for the end, an error, and what belongs to its type.
func isAnswerToMulti(body []byte) bool {
	const header = 4 + 1 + 4
	for len(body) >= header {
		kind, done := int32At(body, 0), body[4] != 0
		body = body[header:]
		size := 0
		switch {
		case done:
			return true
		case kind == resultError:
			size = 4
		case kind == resultSetData:
			size = statSize
		case kind == resultCreate && len(body) >= 4 && int32At(body, 0) >= 0:
			size = 4 + int(int32At(body, 0))
		case kind != resultDelete && kind != resultCheck:
			return false
		}
		if size > len(body) {
			return false
		}
		body = body[size:]
	}
	return false
}

func int32At(b []byte, at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
