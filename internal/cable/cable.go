// Package cable stands between clients and a server of a test, and breaks their connections as a network does. It knows nothing of what is said.
package cable

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/ports"
)

// Cable passes on what clients and a server say to each other. What one of its methods says holds for every byte that comes after the method has
// returned. Many goroutines may use it.
type Cable struct {
	target string
	port   int

	// gate is held shared while bytes are passed on, and alone to change whether they are.
	gate sync.RWMutex
	thaw chan struct{} // closed by Thaw; nil if not frozen

	mu       sync.Mutex
	listener net.Listener  // nil while connections are refused
	accepts  chan struct{} // closed when no connection of listener will be added any more
	links    map[*link]struct{}
	closed   bool
	wg       sync.WaitGroup // of links
}

// portRetries is how often another process may take a port between our look and our listening.
const portRetries = 5

// New starts a cable to an address, with an address of its own. Close ends it.
func New(target string) (*Cable, error) {
	c := &Cable{target: target, links: map[*link]struct{}{}}
	var err error
	for range portRetries {
		if c.port, err = ports.Reserve(); err != nil {
			return nil, err
		}
		if err = c.Allow(); err == nil {
			return c, nil
		}
		ports.Release(c.port)
	}
	return nil, err
}

// ForTest is New for a test. The cable is closed at the end of the test.
func ForTest(t needed.TB, target string) *Cable {
	t.Helper()
	c, err := New(target)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// Addr returns the address to connect to. It stays the same.
func (c *Cable) Addr() string { return ports.Address(c.port) }

// Freeze lets no byte through in either direction: connections stay open, and new ones can be made. It waits for bytes that are just being passed on.
func (c *Cable) Freeze() {
	c.gate.Lock()
	defer c.gate.Unlock()
	if c.thaw == nil {
		c.thaw = make(chan struct{})
	}
}

// Thaw ends a Freeze. What was sent meanwhile arrives now.
func (c *Cable) Thaw() {
	c.gate.Lock()
	defer c.gate.Unlock()
	if c.thaw != nil {
		close(c.thaw)
		c.thaw = nil
	}
}

// enter waits until nothing is frozen, and then holds the gate shared. It returns false, without the gate, if the context is done first.
func (c *Cable) enter(ctx context.Context) bool {
	for {
		c.gate.RLock()
		thaw := c.thaw
		if thaw == nil && ctx.Err() == nil {
			return true
		}
		c.gate.RUnlock()
		select {
		case <-thaw:
		case <-ctx.Done():
			return false
		}
	}
}

// Cut closes all connections at once, those of clients and those to the server. New ones can be made.
func (c *Cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		l.cut()
	}
}

// Refuse lets nobody connect any more, as if the server were down. Connections that are there go on.
func (c *Cable) Refuse() {
	c.mu.Lock()
	listener, accepts := c.listener, c.accepts
	c.listener = nil
	c.mu.Unlock()
	if listener != nil {
		_ = listener.Close() // nothing that could be done about it
	}
	<-accepts
}

// Allow ends a Refuse.
func (c *Cable) Allow() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("cable: the one at %s is closed: make a new one", c.Addr())
	}
	if c.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", c.Addr())
	if err != nil {
		return fmt.Errorf("cable: it cannot listen: %w", err)
	}
	c.listener, c.accepts = listener, make(chan struct{})
	go c.accept(listener, c.accepts)
	return nil
}

func (c *Cable) accept(listener net.Listener, done chan struct{}) {
	defer close(done)
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		l := newLink(c, client)
		c.mu.Lock()
		c.links[l] = struct{}{}
		c.wg.Go(func() {
			l.run()
			c.mu.Lock()
			delete(c.links, l)
			c.mu.Unlock()
		})
		c.mu.Unlock()
	}
}

// Close closes the cable and all its connections. Closing it again does nothing.
func (c *Cable) Close() {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return
	}
	c.Refuse()
	c.Cut()
	c.wg.Wait()
	ports.Release(c.port)
}

// link is one connection. It ends when either side does, or when it is cut.
type link struct {
	cable  *Cable
	client net.Conn
	ctx    context.Context // done when it is cut
	stop   context.CancelFunc

	mu     sync.Mutex
	server net.Conn // nil before there is one
}

func newLink(c *Cable, client net.Conn) *link {
	ctx, stop := context.WithCancel(context.Background())
	return &link{cable: c, client: client, ctx: ctx, stop: stop}
}

// cut closes both sides. Cutting again does nothing.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

func (l *link) run() {
	defer l.cut()
	server, err := l.dial()
	if err != nil {
		return
	}
	var other sync.WaitGroup
	other.Go(func() { l.pass(l.client, server) })
	l.pass(server, l.client)
	other.Wait()
}

// dialLimit is how long it may take to connect to the server, which is on this machine.
const dialLimit = 5 * time.Second

func (l *link) dial() (net.Conn, error) {
	if !l.cable.enter(l.ctx) {
		return nil, l.ctx.Err()
	}
	l.cable.gate.RUnlock()
	server, err := (&net.Dialer{Timeout: dialLimit}).DialContext(l.ctx, "tcp", l.cable.target)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	if l.ctx.Err() != nil { // cut meanwhile
		_ = server.Close()
	}
	return server, l.ctx.Err()
}

// pass passes on what one side says, until it ends.
func (l *link) pass(to io.Writer, from io.Reader) {
	defer l.cut()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if !l.cable.enter(l.ctx) { // the end takes its time like any byte
			return
		}
		_, broken := to.Write(piece[:n])
		l.cable.gate.RUnlock()
		if err != nil || broken != nil {
			return
		}
	}
}
