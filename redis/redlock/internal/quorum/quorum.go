// Package quorum keeps each lock on a majority of several nodes, none of which knows of the others. A node is an engine by itself: a
// Redis server, or a simulated one in virtual time.
//
// # The protocol
//
// A take asks all nodes at once, with the same least token, and is decided as soon as a majority has granted it, or no majority can any more. The
// others are not waited for: what they grant late makes the lease stronger if it was taken, and is released if it was not. A
// release, a renewal and a forced release are decided by a majority in the same way.
//
// The token of a lease is the largest of the first majority that has granted it, and nobody learns of it before a majority of nodes stands at
// it, neither below nor above. Most often that is so at once, because the least token is the same everywhere; otherwise the nodes that are behind
// are raised first, where the lease is still ours. Any later majority has a node in common with this one, so its token is larger. This argument
// needs no clock: models/ holds a model of it that has been checked.
//
// That no two hold a lock at once does need clocks that run at about the same rate, and nodes that do not forget: a
// node that was restarted has to refuse everybody for as long as the longest lease lasts.
//
// Who has to wait queues on one node, the arbiter of the name: the first in an order that depends on the name alone, and the next one if that does
// not answer. Who is granted the name there asks the other nodes. This keeps the votes of many from being split, and is no more than
// that: only a majority is a grant.
package quorum

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/crowd"
)

// Node is one of the places.
type Node interface {
	driver.Engine
	driver.Starter
	driver.Raiser
	driver.Forcer
	driver.Wanter
}

// Config is what the quorum must know. All fields are required.
type Config struct {
	// Name is that of the engine.
	Name string
	// Nodes are the places, at least one; Names say what they are called in errors and listings.
	Nodes []Node
	Names []string
	// Timeout is how long one node has for one request.
	Timeout time.Duration
	// Least is how much of a lease must be left when it is granted.
	Least time.Duration
	// MaxTTL is the longest lease.
	MaxTTL time.Duration
	// Closed says until when a node grants nothing, if that is what its error means.
	Closed func(error) (until time.Time, ok bool)
}

// Engine is a quorum of nodes. It is safe for concurrent use by many goroutines.
type Engine struct {
	Config
	nodes []*node
	need  int // how many are a majority

	crowd    crowd.Crowd // names that this process found held
	attempts attempts
	random   func(n int64) int64 // below n

	mu     sync.Mutex
	work   sync.WaitGroup // requests that go on by themselves
	closed bool
	life   context.Context
	end    context.CancelFunc
}

// New returns an engine over some nodes.
func New(c Config) *Engine {
	e := &Engine{Config: c, need: len(c.Nodes)/2 + 1, random: rand.Int64N}
	e.life, e.end = context.WithCancel(context.Background())
	for i, n := range c.Nodes {
		e.nodes = append(e.nodes, &node{Node: n, index: i, name: c.Names[i], hash: hash(c.Names[i])})
	}
	return e
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	a := driver.Abilities{Name: e.Name, Force: true, Votes: true, Prompt: true, MaxTTL: e.MaxTTL, Walk: true, Leaks: true, Records: true}
	for _, n := range e.nodes {
		can := n.Abilities()
		a.Leaks, a.Records = a.Leaks && can.Leaks, a.Records && can.Records
	}
	return a
}

// Close ends what goes on in the background. Nodes stay open.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end()
	e.work.Wait()
}

// Idle reports whether nothing goes on that callers have not waited for: requests to slow nodes, and releases of what was granted
// late.
func (e *Engine) Idle() bool {
	for _, n := range e.nodes {
		if n.under.Load() > 0 {
			return false
		}
	}
	return true
}

// errClosed is permanent.
var errClosed = driver.Permanent(fmt.Errorf("the engine has been closed: open another one"))

// enter notes a request that goes on by itself, after which work.Done must be called. It reports false if the engine is closed.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.work.Add(1)
	}
	return !e.closed
}

// begin runs f in a goroutine that Close waits for, and reports false if the engine is closed.
func (e *Engine) begin(f func()) bool {
	if !e.enter() {
		return false
	}
	go func() {
		defer e.work.Done()
		f()
	}()
	return true
}

// node is one node, and how it behaves.
type node struct {
	Node
	index int
	name  string
	hash  uint64 // of the name

	under  atomic.Int32 // requests under way
	silent atomic.Bool  // the last request had no answer in time
	watch  watch
}

// mostUnder is how many requests may be under way to one node. One that does not answer must not gather more and more.
const mostUnder = 1024

// jitter returns a random time between half of d and one and a half.
func (e *Engine) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(e.random(int64(d)))
}

// patience is how long answers are waited for: a node may go on with a request for longer than it has.
func (e *Engine) patience() time.Duration { return e.Timeout + e.Timeout/4 }

// errSilent is for a node that is not even asked.
var errSilent = driver.NoEffect(fmt.Errorf("no answer to the requests before"))

// request sends one request to the node within the time that one has. It is not bound to the caller's context, which others must not wait
// for, but has its values.
func (e *Engine) request(ctx context.Context, n *node, f func(ctx context.Context) error) error {
	if !n.admit() {
		return errSilent
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Timeout)
	defer cancel()
	stop := context.AfterFunc(e.life, cancel)
	defer stop()
	err := f(inner)
	n.heard(err)
	n.leave()
	return err
}

// admit notes a request to the node, unless too many are under way. Then leave must be called.
func (n *node) admit() bool {
	if n.under.Add(1) > mostUnder {
		n.under.Add(-1)
		return false
	}
	return true
}

// leave notes that a request has ended, and all that must follow it has begun.
func (n *node) leave() { n.under.Add(-1) }

// heard notes whether the node has answered.
func (n *node) heard(err error) {
	if silent := err != nil && isSilence(err); silent != n.silent.Load() {
		n.silent.Store(silent)
	}
}

// bounded is a context for requests to several nodes at once. It has the values of another one, and a deadline that those who send the requests see to.
type bounded struct {
	context.Context
	end time.Time
}

// bound returns the context of requests that begin now.
func (e *Engine) bound(ctx context.Context) *bounded {
	return &bounded{context.WithoutCancel(ctx), time.Now().Add(e.Timeout)}
}

// Deadline implements [context.Context].
func (b *bounded) Deadline() (time.Time, bool) { return b.end, true }
