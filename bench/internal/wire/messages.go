package wire

import (
	"encoding/binary"
	"strings"
)

// messages reads what begins with its length, in four bytes, the highest first. The first message opens the connection, and does not count.
type messages struct {
	counter *Counter
	tags    string // of the messages that count, each of which begins with one, but for the first; if there are none, all count
	itself  int    // how many bytes the length says of itself
	opened  bool   // the first has begun
	header  []byte // of the message that is being read
	skip    int    // bytes behind it, still to come
}

func (m *messages) read(p []byte) {
	for len(p) > 0 {
		if m.skip > 0 {
			n := min(m.skip, len(p))
			m.skip -= n
			p = p[n:]
			continue
		}
		m.header = append(m.header, p[0])
		p = p[1:]
		tag := 0
		if m.opened && m.tags != "" {
			tag = 1
		}
		if len(m.header) == tag+4 {
			m.begun(m.header[:tag], int(binary.BigEndian.Uint32(m.header[tag:])))
		}
	}
}

// begun takes in a header that is complete.
func (m *messages) begun(tag []byte, length int) {
	if m.opened && strings.Contains(m.tags, string(tag)) {
		m.counter.commands.Add(1)
	}
	m.opened, m.header, m.skip = true, m.header[:0], length-m.itself
}
