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

// gate stands between one client and one server, and lets bytes through or not. It is open at first. Many goroutines may use it.
type gate struct {
	play context.Context // nothing waits for longer

	mu       sync.Mutex
	stopped  bool // the client stands still
	cut      bool // the network is broken
	changed  chan struct{}
	awaited  []byte // what a request has in it that is waited for
	happened func() // is called when such a request has been sent
}

func newGate(play context.Context) *gate { return &gate{play: play, changed: make(chan struct{})} }

// set changes the gate.
func (g *gate) set(change func(g *gate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(g)
	close(g.changed)
	g.changed = make(chan struct{})
}

// pass waits until the gate is open.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		open, changed := !g.stopped && !g.cut, g.changed
		g.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return os.ErrDeadlineExceeded
		case <-g.play.Done():
			return os.ErrDeadlineExceeded
		}
	}
}

// sent looks whether a request is the one that is waited for.
func (g *gate) sent(request []byte) {
	g.mu.Lock()
	happened := g.happened
	if happened == nil || !bytes.Contains(request, g.awaited) {
		g.mu.Unlock()
		return
	}
	g.happened = nil
	g.mu.Unlock()
	happened()
}

// conn is a connection through a gate.
type conn struct {
	net.Conn
	gate   *gate
	life   context.Context // done when it is closed
	end    context.CancelFunc
	reads  atomic.Pointer[time.Time] // their deadlines
	writes atomic.Pointer[time.Time]
}

func newConn(c net.Conn, g *gate) *conn {
	through := &conn{Conn: c, gate: g}
	through.life, through.end = context.WithCancel(context.Background())
	return through
}

// pass waits until the gate is open, but no longer than a deadline says.
func (c *conn) pass(deadline *time.Time) error {
	ctx := c.life
	if deadline != nil && !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, *deadline)
		defer cancel()
	}
	return c.gate.pass(ctx)
}

// Read implements net.Conn. What has arrived at a gate that has closed meanwhile waits there, too.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.pass(c.reads.Load()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if late := c.pass(c.reads.Load()); late != nil {
		return 0, late
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.pass(c.writes.Load()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	c.gate.sent(b)
	return n, err
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.reads.Store(&t)
	c.writes.Store(&t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.reads.Store(&t)
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writes.Store(&t)
	return c.Conn.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.end()
	return c.Conn.Close()
}
