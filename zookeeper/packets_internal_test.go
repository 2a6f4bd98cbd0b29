package zookeeper

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// packet is a packet with these numbers and bytes.
func packet(parts ...any) []byte {
	var body bytes.Buffer
	for _, part := range parts {
		if number, is := part.(int); is {
			part = int32(number)
		}
		if err := binary.Write(&body, binary.BigEndian, part); err != nil {
			panic(err)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(body.Len())), body.Bytes()...)
}

// hello is a server's first packet.
func hello() []byte { return packet(0, 4000, int64(7), 16, make([]byte, 16)) }

// answer is an answer to request 1.
func answer(parts ...any) []byte { return packet(append([]any{1, int64(9), 0}, parts...)...) }

// received reads packets as the library would, after request 1 of some type was sent.
func received(op int32, stream []byte) error {
	p := packets{in: bufio.NewReader(bytes.NewReader(stream))}
	p.noteRequest(packet(1, op))
	got, err := io.ReadAll(&p)
	if err == nil && !bytes.Equal(got, stream) {
		return errors.New("other bytes than those that were sent")
	}
	return err
}

func TestAnswersOfServersAreAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op     int32
		packet []byte
	}{
		"a change":          {1, answer(2, []byte("/a"))},
		"a message":         {opGetChildren, packet(-1, int64(-1), 0, 1, 3, 2, []byte("/a"))},
		"a ping":            {opGetData, packet(-2, int64(9), 0)},
		"no children":       {opGetChildren, answer(0)},
		"children":          {opGetChildren, answer(2, 1, []byte("a"), 0)},
		"children and more": {opGetChildren2, answer(1, 1, []byte("a"), make([]byte, statSize))},
		"rights": {opGetACL,
			answer(1, 31, 5, []byte("world"), 6, []byte("anyone"), make([]byte, statSize))},
		"data":               {opGetData, answer(3, []byte("abc"), make([]byte, statSize))},
		"no data":            {opGetData, answer(-1, make([]byte, statSize))},
		"an error":           {opGetChildren, packet(1, int64(9), -101)},
		"to another request": {opGetChildren, packet(2, int64(9), 0, -1)},
		"several": {opMulti, answer(1, []byte{0}, 0, 2, []byte("/a"), 2, []byte{0}, 0, 13, []byte{0}, 0,
			5, []byte{0}, 0, make([]byte, statSize), -1, []byte{1}, -1)},
		"several errors": {opMulti, answer(-1, []byte{0}, 0, 0, -1, []byte{0}, -101, -101, -1, []byte{1}, -1)},
	} {
		if err := received(c.op, append(hello(), c.packet...)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPacketsThatAreNoAnswersAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op     int32
		stream []byte
	}{
		"a long hello":                {1, []byte{0x7f, 0xff, 0xff, 0xff, 0}},
		"a short hello":               {1, packet(0, 4000, int64(7))},
		"a password without end":      {1, packet(0, 4000, int64(7), 1<<31-1, make([]byte, 16))},
		"no time":                     {1, packet(0, 0, int64(7), 16, make([]byte, 16))},
		"less than no time":           {1, packet(0, -1, int64(7), 16, make([]byte, 16))},
		"a long packet":               {1, append(hello(), 0xff, 0xff, 0xff, 0xff, 0)},
		"a short packet":              {1, append(hello(), packet(-1, int64(9))...)},
		"an empty packet":             {1, append(hello(), packet()...)},
		"many children":               {opGetChildren, append(hello(), answer(-1, 0)...)},
		"more children than are sent": {opGetChildren2, append(hello(), answer(2, 0)...)},
		"many rights":                 {opGetACL, append(hello(), answer(1<<30, 0)...)},
		"long data":                   {opGetData, append(hello(), answer(1<<31-1, 0)...)},
		"no length":                   {opGetData, append(hello(), answer()...)},
		"several without an end":      {opMulti, append(hello(), answer(2, []byte{0}, 0)...)},
		"several, cut short":          {opMulti, append(hello(), answer(-1)...)},
		"several, a long path": {opMulti,
			append(hello(), answer(1, []byte{0}, 0, 1<<31-1, -1, []byte{1}, -1)...)},
		"several, half of a state": {opMulti, append(hello(), answer(5, []byte{0}, 0, make([]byte, 9))...)},
	} {
		if err := received(c.op, c.stream); !errors.Is(err, errBadPacket) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a server sends, requests fail, and the program lives on. Without the checks it would end here.
func TestServersThatAnnounceTooMuch(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(number int32) []byte{
		"many children": func(number int32) []byte { return packet(number, int64(9), 0, -1) },
		"cut short":     func(number int32) []byte { return packet(number, int64(9)) },
		"no time":       nil, // in the first packet
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		serve := func(c net.Conn) {
			defer c.Close()
			first := hello()
			if reply == nil {
				first = packet(0, 0, int64(7), 16, make([]byte, 16))
			}
			for b := make([]byte, 4096); ; {
				n, err := c.Read(b)
				if err != nil {
					return
				}
				send := first
				if first = nil; send == nil && reply != nil && n >= 8 {
					send = reply(int32At(b, 4))
				}
				if _, err := c.Write(send); err != nil {
					return
				}
			}
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		e, err := Open(t.Context(), "zookeeper://"+l.Addr().String()+"?timeout=1s")
		if err == nil {
			t.Cleanup(func() { _ = e.Close() })
			_, err = e.List(t.Context(), driver.Query{})
		}
		if err == nil {
			t.Errorf("%s: it has answered", name)
		}
	}
}

// No packet makes the engine keep more than what was sent.
func FuzzPackets(f *testing.F) {
	f.Add(int32(opGetChildren), answer(2, 1, []byte("a"), 0))
	f.Add(int32(opMulti), answer(1, []byte{0}, 0, 2, []byte("/a"), -1, []byte{1}, -1))
	f.Add(int32(opGetData), answer(3, []byte("abc"), make([]byte, statSize)))
	f.Fuzz(func(t *testing.T, op int32, stream []byte) {
		p := packets{in: bufio.NewReader(bytes.NewReader(append(hello(), stream...)))}
		p.noteRequest(packet(1, op))
		for began := time.Now(); p.next() == nil; {
			if p.packet.Len() > len(stream)+len(hello()) || time.Since(began) > time.Minute {
				t.Fatalf("a packet of %d bytes", p.packet.Len())
			}
		}
	})
}
