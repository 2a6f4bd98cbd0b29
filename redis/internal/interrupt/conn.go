package interrupt

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// conn is a connection of a client.
type conn struct {
	net.Conn
	interrupter *Interrupter

	mu      sync.Mutex
	serving *request // whose deadline it has; nil if that is nobody's
}

// newConn returns a connection that can be interrupted. The client looks whether a connection is one of the operating
// system, and so whether it is still open and has data.
func newConn(c net.Conn, i *Interrupter) net.Conn {
	wrapped := &conn{Conn: c, interrupter: i}
	if system, ok := c.(syscall.Conn); ok {
		return systemConn{wrapped, system}
	}
	return wrapped
}

// systemConn is a conn of the operating system.
type systemConn struct {
	*conn
	system syscall.Conn
}

// SyscallConn implements [syscall.Conn].
func (c systemConn) SyscallConn() (syscall.RawConn, error) { return c.system.SyscallConn() }

// NetConn returns the connection below, as that of package tls does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error { return c.set(t, net.Conn.SetDeadline) }

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.set(t, net.Conn.SetReadDeadline) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(t, net.Conn.SetWriteDeadline) }

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// set sets a deadline, and notes whose it is.
func (c *conn) set(t time.Time, set func(net.Conn, time.Time) error) error {
	r := c.interrupter.find(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving = r
	if r != nil {
		r.conn.Store(c)
		if r.ended.Load() { // after conn is set: either this sees that it has ended, or end sees the connection
			t = past
		}
	}
	return set(c.Conn, t)
}

// interrupt lets the deadline pass, unless the connection serves another request by now.
func (c *conn) interrupt(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving == r {
		_ = c.Conn.SetDeadline(past)
	}
}
