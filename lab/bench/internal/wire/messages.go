package wire

import (
	"encoding/binary"
	"strings"
)

// messages reads messages that begin with their length, in four bytes, the highest first. The first
// message opens the connection, and does not count.
type messages struct {
	counter  *Counter
	tags     string // messages after the first begin with a tag; those with one of these count. Without tags, all count
	ownBytes int    // how many of its own bytes the length includes
	opened   bool   // the first message has begun
	header   []byte // of the present message
	skip     int    // remaining bytes of the message
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
			m.noteHeader(m.header[:tag], int(binary.BigEndian.Uint32(m.header[tag:])))
		}
	}
}

// noteHeader handles a complete header.
func (m *messages) noteHeader(tag []byte, length int) {
	if m.opened && strings.Contains(m.tags, string(tag)) {
		m.counter.commands.Add(1)
	}
	m.opened, m.header, m.skip = true, m.header[:0], length-m.ownBytes
}
