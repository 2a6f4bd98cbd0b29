// Package cable stands between clients and a server of a test, and breaks their connections as a network does. It knows nothing of what is said, but may be
// told how to pass it on.
package cable

import (
	"fmt"
	"net"
	"sync"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/ports"
)

// Cable passes on what clients and a server say to each other. What one of its methods says holds for every byte that comes after the method has
// returned. Many goroutines may use it.
type Cable struct {
	target string
	pass   func(*Link)
	port   int

	// gate is held shared while bytes are passed on, and alone to change whether they are.
	gate sync.RWMutex
	thaw chan struct{} // closed by Thaw; nil if not frozen

	mu       sync.Mutex
	listener net.Listener  // nil while connections are refused
	accepts  chan struct{} // closed when no connection of listener will be added any more
	links    map[*Link]struct{}
	closed   bool
	wg       sync.WaitGroup // of links
}

// New starts a cable to an address, with an address of its own. Close ends it.
func New(target string) (*Cable, error) { return NewWith(target, (*Link).pass) }

// NewWith is New with a function that is called for each link, to pass on what its two sides say to each other, until either ends or it is cut. All that
// it passes on it does between Enter and Leave of the link, for that is what the cable breaks.
func NewWith(target string, pass func(*Link)) (*Cable, error) {
	c := &Cable{target: target, pass: pass, links: map[*Link]struct{}{}}
	err := ports.Retry(func() (err error) {
		if c.port, err = ports.Reserve(); err != nil {
			return err
		}
		if err = c.Allow(); err != nil {
			ports.Release(c.port)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
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

// Halt calls a function while no byte is passed on. It waits for bytes that are just being passed on.
func (c *Cable) Halt(while func()) {
	c.gate.Lock()
	defer c.gate.Unlock()
	while()
}

// Cut closes all connections at once, those of clients and those to the server. New ones can be made.
func (c *Cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		l.Cut()
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
