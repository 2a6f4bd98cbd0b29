// Package cable stands between clients and a server of a test, and breaks their connections as a
// network does. It relays bytes without understanding them, unless the caller supplies a relay
// function of its own.
package cable

import (
	"fmt"
	"net"
	"sync"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/ports"
)

// Cable relays bytes between clients and a server. After one of its methods has returned, it
// applies to every later byte. It is safe for concurrent use.
type Cable struct {
	target string
	relay  func(*Link)
	port   int

	// passing is read-locked while bytes are relayed, and locked to change whether they are.
	passing sync.RWMutex
	thaw    chan struct{} // closed by Thaw; nil if not frozen

	mu       sync.Mutex
	listener net.Listener  // nil while connections are refused
	accepts  chan struct{} // closed when no further connection of listener will be added
	links    map[*Link]struct{}
	closed   bool
	wg       sync.WaitGroup // of links
}

// New starts a cable to an address, with an address of its own. Close ends it.
func New(target string) (*Cable, error) { return NewWith(target, (*Link).relayAll) }

// NewWith is New with a function that is called for each link and relays between its two sides,
// until either ends or the link is cut. The function must relay only between Enter and Leave of the
// link, since that is what the cable controls.
func NewWith(target string, pass func(*Link)) (*Cable, error) {
	c := &Cable{target: target, relay: pass, links: map[*Link]struct{}{}}
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

// Freeze stops all bytes in both directions: connections stay open, and new ones can be made. It
// waits for bytes that are being relayed.
func (c *Cable) Freeze() {
	c.passing.Lock()
	defer c.passing.Unlock()
	if c.thaw == nil {
		c.thaw = make(chan struct{})
	}
}

// Thaw ends a Freeze. Bytes that were sent meanwhile arrive now.
func (c *Cable) Thaw() {
	c.passing.Lock()
	defer c.passing.Unlock()
	if c.thaw != nil {
		close(c.thaw)
		c.thaw = nil
	}
}

// Halt calls a function while no bytes are relayed. It waits for bytes that are being relayed.
func (c *Cable) Halt(while func()) {
	c.passing.Lock()
	defer c.passing.Unlock()
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

// Refuse lets nobody connect any more, as if the server were down. Existing connections go on.
func (c *Cable) Refuse() {
	c.mu.Lock()
	listener, accepts := c.listener, c.accepts
	c.listener = nil
	c.mu.Unlock()
	if listener != nil {
		_ = listener.Close() // nothing can be done about an error
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
