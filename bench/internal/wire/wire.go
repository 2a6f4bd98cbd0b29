// Package wire counts the commands that clients send to Redis, whichever library sends them: it reads along on
// their connections. What scripts call inside of the server is not among them.
package wire

import (
	"net"
	"sync/atomic"
)

// Counter counts commands. It may be used by many goroutines at the same time.
type Counter struct{ commands atomic.Int64 }

// Commands returns how many commands have been sent so far.
func (c *Counter) Commands() int64 { return c.commands.Load() }

// Add counts what is not seen on a connection.
func (c *Counter) Add(n int64) { c.commands.Add(n) }

// Watch returns the connection with its commands counted. All else of it stays as it was.
func (c *Counter) Watch(n net.Conn) net.Conn {
	if tcp, ok := n.(*net.TCPConn); ok {
		// Clients look for what a TCP connection can do beyond net.Conn.
		return &tcpConn{TCPConn: tcp, reader: reader{counter: c}}
	}
	return &conn{Conn: n, reader: reader{counter: c}}
}

type tcpConn struct {
	*net.TCPConn
	reader reader
}

func (c *tcpConn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.reader.read(p[:n])
	return n, err
}

type conn struct {
	net.Conn
	reader reader
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.reader.read(p[:n])
	return n, err
}

// reader reads requests in the Redis protocol, however they are cut into pieces: *ARGUMENTS, and for each of
// them $LENGTH and so many bytes; all lines end with \r\n.
type reader struct {
	counter   *Counter
	arguments int // of this command, still to come
	skip      int // bytes of an argument, still to come
	number    int // in the line that is being read
}

func (r *reader) read(p []byte) {
	for len(p) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(p))
			r.skip -= n
			p = p[n:]
			continue
		}
		b := p[0]
		p = p[1:]
		switch {
		case '0' <= b && b <= '9':
			r.number = r.number*10 + int(b-'0')
		case b == '\n':
			r.line()
		}
	}
}

// line takes in a line that has ended.
func (r *reader) line() {
	if r.arguments == 0 {
		r.arguments = r.number
		r.counter.commands.Add(1)
	} else {
		r.arguments--
		r.skip = r.number + len("\r\n")
	}
	r.number = 0
}
