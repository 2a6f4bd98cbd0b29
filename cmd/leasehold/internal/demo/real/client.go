package real

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
)

// client is one client, with connections of its own.
type client struct {
	*world
	name        string
	gates       []*gate // by node
	connections []*goredis.Client
	locker      locker

	mu      sync.Mutex
	running chan struct{} // closed while it does not stand still
	stops   atomic.Int32  // how often it has come to stand still
}

// locker is how a client locks.
type locker interface {
	// prepare takes another lock once, so that nothing has to be set up in the play.
	prepare(ctx context.Context) error
	Lock() (stage.Lease, bool)
	close()
}

// Client implements [stage.World].
func (w *world) Client(name string) stage.Client {
	c := &client{world: w, name: name, running: make(chan struct{})}
	close(c.running)
	for _, n := range w.nodes {
		g := newGate(w.ctx)
		o := options(n.server.Addr())
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			if err := g.pass(ctx); err != nil {
				return nil, err
			}
			conn, err := (&net.Dialer{Timeout: o.DialTimeout}).DialContext(ctx, network, *n.address.Load())
			if err != nil {
				return nil, err
			}
			return newConn(conn, g), nil
		}
		c.gates = append(c.gates, g)
		c.connections = append(c.connections, goredis.NewClient(o))
	}
	c.locker = w.locker(c)
	w.clients = append(w.clients, c)
	return c
}

// locker makes what the setup says.
func (w *world) locker(c *client) locker {
	if w.setup.Leasehold {
		return &leased{client: c}
	}
	return newRecipe(c)
}

// Lock implements [stage.Client].
func (c *client) Lock() (stage.Lease, bool) {
	lease, ok := c.locker.Lock()
	c.awake()
	return lease, ok
}

// awake returns when the client does not stand still.
func (c *client) awake() {
	c.mu.Lock()
	running := c.running
	c.mu.Unlock()
	select {
	case <-running:
	case <-c.ctx.Done():
	}
	c.Sleep(0) // which looks whether the play goes on
}

// Stop implements [stage.Client].
func (c *client) Stop() {
	for _, g := range c.gates {
		g.set(func(g *gate) { g.stopped = true })
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

// Continue implements [stage.Client].
func (c *client) Continue() {
	for _, g := range c.gates {
		g.set(func(g *gate) { g.stopped = false })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.running:
	default:
		close(c.running)
	}
}

// StopWhenAsked implements [stage.Client]. It is for places of one server.
func (c *client) StopWhenAsked() {
	c.gates[0].set(func(g *gate) {
		g.awaited = []byte(c.world.name)
		g.happened = func() {
			c.Stop()
			c.Fire(stage.At(c.name, stage.Asks))
		}
	})
}

// Die implements [stage.Client].
func (c *client) Die() {
	for i := range c.gates {
		c.Cut(i)
	}
}

// Cut implements [stage.Client].
func (c *client) Cut(servers ...int) {
	for _, i := range servers {
		c.gates[i].set(func(g *gate) { g.cut = true })
	}
}

// close lets go of everything.
func (c *client) close() {
	for _, g := range c.gates {
		g.set(func(g *gate) { g.stopped, g.cut, g.happened = false, false, nil })
	}
	c.locker.close()
	for _, each := range c.connections {
		_ = each.Close() // nothing is left to be said
	}
}
