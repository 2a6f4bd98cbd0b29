package real

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
)

// client is one client, with its own connections.
type client struct {
	*environment
	name        string
	links       []*link // one for each node
	connections []*goredis.Client
	locker      locker

	mu      sync.Mutex
	running chan struct{} // closed while the client is not stopped
	stops   atomic.Int32  // how often it was stopped
}

// locker is the lock that a client uses.
type locker interface {
	// prepare takes another lock once, so that nothing has to be set up during the run.
	prepare(ctx context.Context) error
	Lock() (scenario.Lease, bool)
	close()
}

// Client implements [scenario.Environment].
func (e *environment) Client(name string) scenario.Client {
	c := &client{environment: e, name: name, running: make(chan struct{})}
	close(c.running)
	for _, n := range e.nodes {
		l := newLink(e.ctx)
		o := clientOptions(n.server.Addr())
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			if err := l.passWhenOpen(ctx); err != nil {
				return nil, err
			}
			conn, err := (&net.Dialer{Timeout: o.DialTimeout}).DialContext(ctx, network, *n.address.Load())
			if err != nil {
				return nil, err
			}
			return newConn(conn, l), nil
		}
		c.links = append(c.links, l)
		c.connections = append(c.connections, goredis.NewClient(o))
	}
	c.locker = e.newLocker(c)
	e.clients = append(e.clients, c)
	return c
}

// newLocker returns the lock that the setup asks for.
func (e *environment) newLocker(c *client) locker {
	if e.setup.Leasehold {
		return &leaseholdLocker{client: c}
	}
	return newNaiveLocker(c)
}

// Lock implements [scenario.Client].
func (c *client) Lock() (scenario.Lease, bool) {
	lease, ok := c.locker.Lock()
	c.waitUntilRunning()
	return lease, ok
}

// waitUntilRunning returns when the client is not stopped.
func (c *client) waitUntilRunning() {
	c.mu.Lock()
	running := c.running
	c.mu.Unlock()
	select {
	case <-running:
	case <-c.ctx.Done():
	}
	c.Sleep(0) // it ends the goroutine if the run was aborted
}

// Stop implements [scenario.Client].
func (c *client) Stop() {
	for _, l := range c.links {
		l.set(func(l *link) { l.stopped = true })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.running:
		c.running = make(chan struct{})
		c.stops.Add(1)
	default:
	}
}

// Continue implements [scenario.Client].
func (c *client) Continue() {
	for _, l := range c.links {
		l.set(func(l *link) { l.stopped = false })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.running:
	default:
		close(c.running)
	}
}

// StopAfterRequest implements [scenario.Client]. It works with one server only.
func (c *client) StopAfterRequest() {
	c.links[0].set(func(l *link) {
		l.pattern = []byte(c.environment.name)
		l.onRequest = func() {
			c.Stop()
			c.Signal(scenario.EventOf(c.name, scenario.Asks))
		}
	})
}

// Die implements [scenario.Client].
func (c *client) Die() {
	for i := range c.links {
		c.Cut(i)
	}
}

// Cut implements [scenario.Client].
func (c *client) Cut(servers ...int) {
	for _, i := range servers {
		c.links[i].set(func(l *link) { l.cut = true })
	}
}

// close closes the client's lock and connections.
func (c *client) close() {
	for _, l := range c.links {
		l.set(func(l *link) { l.stopped, l.cut, l.onRequest = false, false, nil })
	}
	c.locker.close()
	for _, each := range c.connections {
		_ = each.Close() // nothing is left to be sent
	}
}
