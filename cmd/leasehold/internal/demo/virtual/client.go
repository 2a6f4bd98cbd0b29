package virtual

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/bare"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
)

// key is the name of the lock.
const key = "counter"

// client is one client.
type client struct {
	*World
	name    string
	cut     []int        // servers that it cannot reach
	armed   bool         // is to stand still at its next request
	stopped stage.Moment // it stands still until then; "" if it goes on
	stops   int          // how often it has come to stand still
	dead    bool
	locker  interface {
		Lock() (stage.Lease, bool)
	}
}

// Client implements [stage.World].
func (w *World) Client(name string) stage.Client {
	c := &client{World: w, name: name}
	if w.setup.Leasehold {
		c.locker = &locker{client: c}
		return c
	}
	l := &bare.Lock{
		Client: name, Key: key, Recipe: w.setup.Recipe, TTL: w.ttl, Beat: w.ttl / 40, Patience: w.patience(),
		Now: func() time.Duration { return w.now }, Sleep: w.Sleep,
		Each: func(n int, f func(int)) {
			w.hop()
			for i := range n {
				f(i)
			}
			c.answered()
		},
	}
	for i := range w.servers {
		l.Servers = append(l.Servers, commands{c, i})
	}
	c.locker = l
	return c
}

// Lock implements [stage.Client].
func (c *client) Lock() (stage.Lease, bool) { return c.locker.Lock() }

// server returns a server, if anything comes through to it.
func (c *client) server(i int) (*server, bool) {
	s := c.servers[i]
	return s, !s.down && !slices.Contains(c.cut, i)
}

// answered lets answers of servers come back, but not before the client can read them.
func (c *client) answered() {
	if c.armed {
		c.armed = false
		c.Stop()
		c.Fire(stage.At(c.name, stage.Asks))
	}
	c.hop()
	c.awake()
}

// awake returns when the client does not stand still.
func (c *client) awake() {
	for c.stopped != "" {
		c.Await(stage.Forever, c.stopped)
	}
}

// Stop implements [stage.Client].
func (c *client) Stop() {
	if c.stopped == "" {
		c.stops++
		c.stopped = stage.At(c.name, fmt.Sprintf("goes on after stop %d", c.stops))
	}
}

// Continue implements [stage.Client].
func (c *client) Continue() {
	m := c.stopped
	c.stopped = ""
	c.Fire(m)
}

// StopWhenAsked implements [stage.Client].
func (c *client) StopWhenAsked() { c.armed = true }

// Die implements [stage.Client].
func (c *client) Die() { c.dead = true }

// Cut implements [stage.Client].
func (c *client) Cut(servers ...int) { c.cut = append(c.cut, servers...) }

// commands are those of Redis on one server, as one client sees it.
type commands struct {
	*client
	index int
}

var _ bare.Server = commands{}

var errNoAnswer = errors.New("no answer")

// SetIfAbsent implements [bare.Server].
func (c commands) SetIfAbsent(key, value string, ttl time.Duration) (bool, error) {
	s, ok := c.server(c.index)
	if !ok {
		return false, errNoAnswer
	}
	return s.set(key, value, ttl), nil
}

// Delete implements [bare.Server].
func (c commands) Delete(key string) (was string, err error) {
	s, ok := c.server(c.index)
	if !ok {
		return "", errNoAnswer
	}
	was = s.get(key)
	delete(s.keys, key)
	return was, nil
}

// DeleteIf implements [bare.Server].
func (c commands) DeleteIf(key, value string) (bool, error) {
	s, ok := c.server(c.index)
	if !ok {
		return false, errNoAnswer
	}
	if s.get(key) != value {
		return false, nil
	}
	delete(s.keys, key)
	return true, nil
}
