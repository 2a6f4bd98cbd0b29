package redisurl

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"syscall"
)

// go-redis reserves memory for as many bytes or elements as a reply announces, and reads nested replies by recursion.
// So a few bytes from a server that lies would end the program. A reply that exceeds these limits ends its connection.
// None of ours comes near them.
const (
	maxReplySize     = 256 << 20 // of a reply in bytes
	maxReplyElements = 4 << 20   // of a reply that are announced and still missing
	maxReplyDepth    = 64
)

var errReplyTooLarge = errors.New("redis: the server announced a reply that is too large: it is no Redis server, " +
	"or somebody changes what it sends")

// boundedConn is a connection that ends with the first reply that is too large.
type boundedConn struct {
	net.Conn
	replies replyScanner
}

// boundReplies returns a connection that ends with the first reply that is too large. The client checks idle
// connections that are a [syscall.Conn].
func boundReplies(conn net.Conn) net.Conn {
	if raw, ok := conn.(syscall.Conn); ok {
		return &boundedRawConn{boundedConn{Conn: conn}, raw}
	}
	return &boundedConn{Conn: conn}
}

// Read implements net.Conn.
func (c *boundedConn) Read(b []byte) (int, error) {
	if c.replies.bad {
		return 0, errReplyTooLarge
	}
	n, err := c.Conn.Read(b)
	if !c.replies.scan(b[:n]) {
		return 0, errReplyTooLarge
	}
	return n, err
}

// boundedRawConn is a boundedConn whose socket can be checked.
type boundedRawConn struct {
	boundedConn
	raw syscall.Conn
}

// SyscallConn implements syscall.Conn.
func (c *boundedRawConn) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// replyScanner follows replies in the protocol of Redis (RESP2 and RESP3) as far as it must to know what they announce.
// It leaves it to the client to reject what is no reply.
type replyScanner struct {
	header  []byte // the beginning of a line that has not ended
	skip    int    // bytes of a string that are still to come
	missing []int  // the elements that are missing in each of the nested aggregates
	total   int    // the sum of them
	size    int    // of the whole reply so far
	bad     bool
}

// maxHeader is longer than any line with a length. No more is kept of a line.
const maxHeader = 32

// scan goes on with what was read. It returns false once a reply is too large.
func (s *replyScanner) scan(b []byte) bool {
	for len(b) > 0 && !s.bad {
		if s.skip > 0 {
			n := min(s.skip, len(b))
			s.skip, b = s.skip-n, b[n:]
			if s.skip == 0 {
				s.complete()
			}
			continue
		}
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		s.add(len(line) + 1)
		if len(s.header) > 0 || !ended {
			s.header = append(s.header, line[:min(len(line), maxHeader-len(s.header))]...)
			line = s.header
		}
		if !ended {
			break
		}
		s.readHeader(line[:min(len(line), maxHeader)])
		s.header, b = s.header[:0], rest
	}
	return !s.bad
}

// readHeader reads a line that is not part of a string.
func (s *replyScanner) readHeader(line []byte) {
	if len(line) == 0 {
		return
	}
	perElement := 1
	switch line[0] {
	case '$', '!', '=', '*', '~', '>':
	case '%':
		perElement = 2
	case '|': // what it is about follows
		perElement = 2
		if depth := len(s.missing); depth > 0 {
			s.missing[depth-1]++
			s.total++
		}
	default:
		s.complete()
		return
	}
	n, err := strconv.Atoi(string(bytes.TrimRight(line[1:], "\r")))
	switch {
	case len(line) == maxHeader, errors.Is(err, strconv.ErrRange), n > maxReplySize: // zeros may precede a number
		s.bad = true
	case err != nil, n < 0: // a null, or nothing that the client accepts
		s.complete()
	case line[0] == '$', line[0] == '!', line[0] == '=':
		s.skip = n + len("\r\n")
		s.add(s.skip)
	case n == 0:
		s.complete()
	default:
		s.missing = append(s.missing, n*perElement)
		s.total += n * perElement
		s.bad = s.bad || s.total > maxReplyElements || len(s.missing) > maxReplyDepth
	}
}

// add counts bytes of a reply.
func (s *replyScanner) add(n int) {
	s.size += n
	s.bad = s.bad || s.size > maxReplySize
}

// complete ends an element, and the aggregates of which it is the last one.
func (s *replyScanner) complete() {
	for len(s.missing) > 0 {
		last := len(s.missing) - 1
		s.missing[last]--
		s.total--
		if s.missing[last] > 0 {
			return
		}
		s.missing = s.missing[:last]
	}
	s.size = 0
}
