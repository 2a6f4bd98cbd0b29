package real

import (
	"bytes"
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// link is the connection between one client and one server, which can be blocked. It is open at first, and safe for
// concurrent use.
type link struct {
	ctx context.Context // ends every wait

	mu        sync.Mutex
	stopped   bool // the client is stopped
	cut       bool // the network is broken
	changed   chan struct{}
	pattern   []byte // what the awaited request contains
	onRequest func() // called once, after the awaited request was sent
}

func newLink(ctx context.Context) *link { return &link{ctx: ctx, changed: make(chan struct{})} }

// set changes the link.
func (l *link) set(change func(l *link)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
	close(l.changed)
	l.changed = make(chan struct{})
}

// passWhenOpen waits until the link is open.
func (l *link) passWhenOpen(ctx context.Context) error {
	for {
		l.mu.Lock()
		open, changed := !l.stopped && !l.cut, l.changed
		l.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return os.ErrDeadlineExceeded
		case <-l.ctx.Done():
			return os.ErrDeadlineExceeded
		}
	}
}

// noteRequest calls onRequest if this is the awaited request.
func (l *link) noteRequest(request []byte) {
	l.mu.Lock()
	happened := l.onRequest
	if happened == nil || !bytes.Contains(request, l.pattern) {
		l.mu.Unlock()
		return
	}
	l.onRequest = nil
	l.mu.Unlock()
	happened()
}

// conn is a connection through a link.
type conn struct {
	net.Conn
	link          *link
	ctx           context.Context // done when it is closed
	cancel        context.CancelFunc
	readDeadline  atomic.Pointer[time.Time] // deadlines of calls
	writeDeadline atomic.Pointer[time.Time]
}

func newConn(c net.Conn, l *link) *conn {
	through := &conn{Conn: c, link: l}
	through.ctx, through.cancel = context.WithCancel(context.Background())
	return through
}

// passWhenOpen waits until the link is open, but not beyond the deadline.
func (c *conn) passWhenOpen(deadline *time.Time) error {
	ctx := c.ctx
	if deadline != nil && !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, *deadline)
		defer cancel()
	}
	return c.link.passWhenOpen(ctx)
}

// Read implements net.Conn. It also holds back what has arrived after the link was blocked.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.passWhenOpen(c.readDeadline.Load()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if late := c.passWhenOpen(c.readDeadline.Load()); late != nil {
		return 0, late
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.passWhenOpen(c.writeDeadline.Load()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	c.link.noteRequest(b)
	return n, err
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.readDeadline.Store(&t)
	c.writeDeadline.Store(&t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.readDeadline.Store(&t)
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline.Store(&t)
	return c.Conn.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.cancel()
	return c.Conn.Close()
}
