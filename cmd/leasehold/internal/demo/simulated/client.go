package simulated

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/naive"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
)

// key is the name of the lock.
const key = "counter"

// client is one client.
type client struct {
	*Environment
	name             string
	unreachable      []int          // servers that it cannot reach
	stopAfterRequest bool           // it stops after its next request
	stopped          scenario.Event // the event that ends the stop; "" if it is running
	stops            int            // how often it was stopped
	dead             bool
	locker           interface {
		Lock() (scenario.Lease, bool)
	}
}

// Client implements [scenario.Environment].
func (e *Environment) Client(name string) scenario.Client {
	c := &client{Environment: e, name: name}
	if e.setup.Leasehold {
		c.locker = &locker{client: c}
		return c
	}
	l := &naive.Lock{
		Client: name, Key: key, Options: e.setup.Naive, TTL: e.ttl, RetryInterval: e.ttl / 40,
		RetryLimit: e.waitLimit(), Now: func() time.Duration { return e.now }, Sleep: e.Sleep,
		ForEach: func(n int, f func(int)) {
			e.delayMessage()
			for i := range n {
				f(i)
			}
			c.receiveAnswers()
		},
	}
	for i := range e.servers {
		l.Servers = append(l.Servers, commands{c, i})
	}
	c.locker = l
	return c
}

// Lock implements [scenario.Client].
func (c *client) Lock() (scenario.Lease, bool) { return c.locker.Lock() }

// server returns a server, and whether the client can reach it.
func (c *client) server(i int) (*server, bool) {
	s := c.servers[i]
	return s, !s.down && !slices.Contains(c.unreachable, i)
}

// receiveAnswers lets answers arrive. A stopped client reads them when it goes on.
func (c *client) receiveAnswers() {
	if c.stopAfterRequest {
		c.stopAfterRequest = false
		c.Stop()
		c.Signal(scenario.EventOf(c.name, scenario.Asks))
	}
	c.delayMessage()
	c.waitUntilRunning()
}

// waitUntilRunning returns when the client is not stopped.
func (c *client) waitUntilRunning() {
	for c.stopped != "" {
		c.Await(scenario.Forever, c.stopped)
	}
}

// Stop implements [scenario.Client].
func (c *client) Stop() {
	if c.stopped == "" {
		c.stops++
		c.stopped = scenario.EventOf(c.name, fmt.Sprintf("goes on after stop %d", c.stops))
	}
}

// Continue implements [scenario.Client].
func (c *client) Continue() {
	m := c.stopped
	c.stopped = ""
	c.Signal(m)
}

// StopAfterRequest implements [scenario.Client].
func (c *client) StopAfterRequest() { c.stopAfterRequest = true }

// Die implements [scenario.Client].
func (c *client) Die() { c.dead = true }

// Cut implements [scenario.Client].
func (c *client) Cut(servers ...int) { c.unreachable = append(c.unreachable, servers...) }

// commands are the Redis commands of one server, for one client.
type commands struct {
	*client
	index int
}

var _ naive.Server = commands{}

var errNoAnswer = errors.New("no answer")

// SetIfAbsent implements [naive.Server].
func (c commands) SetIfAbsent(key, value string, ttl time.Duration) (bool, error) {
	s, ok := c.server(c.index)
	if !ok {
		return false, errNoAnswer
	}
	return s.set(key, value, ttl), nil
}

// Delete implements [naive.Server].
func (c commands) Delete(key string) (was string, err error) {
	s, ok := c.server(c.index)
	if !ok {
		return "", errNoAnswer
	}
	was = s.get(key)
	delete(s.keys, key)
	return was, nil
}

// DeleteIf implements [naive.Server].
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
