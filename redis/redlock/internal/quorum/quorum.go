// Package quorum keeps each lock on a majority of several nodes, none of which knows of the others. A node is an
// engine by itself: a Redis server, or a simulated one in virtual time.
//
// # The protocol
//
// A take asks all nodes at once, with the same token floor. It is decided as soon as a majority has granted
// the name, or no majority can any more. The other nodes are not waited for: a late grant strengthens the
// lease if there is one, and is released if there is none. A majority decides releases, renewals and forced
// releases in the same way.
//
// The token of a lease is the largest that the first majority has granted. Nobody learns it before a majority of nodes
// stands exactly at it, neither below nor above. Because the floor is the same everywhere, that is usually so at once;
// otherwise nodes that are behind are raised first, where the lease is still ours. Any later majority has a node in
// common with this one, so its token is larger. This argument needs no clock: models/ holds a model of it that has been
// checked.
//
// Mutual exclusion does need clocks that run at about the same rate, and nodes that do not forget: a node that was
// restarted must refuse everybody for as long as the longest lease lasts.
//
// Waiters queue on one node, the arbiter of the name: the first node in an order that depends only on the name, or the
// next one if that does not answer. A waiter that the arbiter grants the name then asks the other nodes. This prevents
// split votes among many waiters, and is no more than that: only a majority grants a lock.
package quorum

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/contended"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Node is one of the independent servers.
type Node interface {
	driver.Engine
	quorumnode.Starter
	quorumnode.Node
	quorumnode.Passer
	driver.Operator
	driver.Wanter
}

// Config is what the quorum must know. All fields but MinValidity are required.
type Config struct {
	// Name is that of the engine.
	Name string
	// Nodes are the servers, at least one. Names are what errors and listings call them.
	Nodes []Node
	Names []string
	// Timeout is how long one node has for one request.
	Timeout time.Duration
	// MinValidity is how much of a lease must be left when it is granted.
	MinValidity time.Duration
	// MaxTTL is the longest lease.
	MaxTTL time.Duration
	// Closed reports whether an error means that its node grants nothing yet, and until when.
	Closed func(error) (until time.Time, ok bool)
}

// Engine is a quorum of nodes. It is safe for concurrent use by many goroutines.
type Engine struct {
	driver.Unsupported // Examine

	Config
	nodes    []*node
	majority int

	contended  contended.Names[driver.Key] // names that this process found held
	elsewhere  contended.Names[driver.Key] // names for which others wait at a node that is not their arbiter
	calls      calls
	heldGrants heldGrants
	random     func(n int64) int64 // below n

	mu         sync.Mutex
	background sync.WaitGroup // requests that nobody may be waiting for
	closed     bool
	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
}

// New returns an engine over some nodes.
func New(c Config) *Engine {
	e := &Engine{Config: c, majority: len(c.Nodes)/2 + 1, random: rand.Int64N}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	for i, n := range c.Nodes {
		e.nodes = append(e.nodes, &node{Node: n, index: i, name: c.Names[i], hash: hash(c.Names[i])})
		n.OnLeftGrant(e.releaseLeft)
	}
	return e
}

// Abilities implements [driver.Engine].
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{Name: e.Name, MaxTTL: e.MaxTTL, Walk: true}
}

// Close ends all background work. Nodes stay open.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.background.Wait()
}

// Idle reports whether no request is in flight: neither to slow nodes, nor to release what was granted late.
func (e *Engine) Idle() bool {
	for _, n := range e.nodes {
		if n.inFlight.Load() > 0 {
			return false
		}
	}
	return true
}

// errClosed is permanent.
var errClosed = driver.Permanent(fmt.Errorf("the engine has been closed: open another one"))

// beginWork makes Close wait until background.Done is called. It reports false if the engine is closed already.
func (e *Engine) beginWork() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.background.Add(1)
	}
	return !e.closed
}

// goInBackground runs f in a goroutine that Close waits for. It reports false if the engine is closed.
func (e *Engine) goInBackground(f func()) bool {
	if !e.beginWork() {
		return false
	}
	go func() {
		defer e.background.Done()
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

	inFlight atomic.Int32 // requests
	silent   atomic.Bool  // the last request had no answer in time
	watch    nodeWatch
}

// maxInFlight limits the requests in flight to one node, so that they do not pile up where nothing is answered.
const maxInFlight = 1024

// jitter returns a random time between half of d and one and a half of it.
func (e *Engine) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(e.random(int64(d)))
}

// answerTimeout is how long answers are waited for. It leaves a node some time beyond that of its request.
func (e *Engine) answerTimeout() time.Duration { return e.Timeout + e.Timeout/4 }

// errNodeSilent is for a node that is not even asked.
var errNodeSilent = driver.NoEffect(fmt.Errorf("no answer to the requests before"))

// sendRequest sends one request to the node, with Timeout as its limit. The request keeps the values of the caller's
// context but not its end: it goes on when the caller has given up.
func (e *Engine) sendRequest(ctx context.Context, n *node, f func(ctx context.Context) error) error {
	if !n.beginRequest() {
		return errNodeSilent
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Timeout)
	defer cancel()
	stop := context.AfterFunc(e.ctx, cancel)
	defer stop()
	err := f(inner)
	n.noteAnswer(err)
	n.endRequest()
	return err
}

// beginRequest counts a request to the node, and reports false if too many are in flight. Otherwise endRequest must be
// called.
func (n *node) beginRequest() bool {
	if n.inFlight.Add(1) > maxInFlight {
		n.inFlight.Add(-1)
		return false
	}
	return true
}

// endRequest ends a request. Requests that follow from its answer have begun by then, so that Idle does not miss them.
func (n *node) endRequest() { n.inFlight.Add(-1) }

// noteAnswer notes whether the node has answered.
func (n *node) noteAnswer(err error) {
	if silent := err != nil && isNoAnswer(err); silent != n.silent.Load() {
		n.silent.Store(silent)
	}
}

// deadlineContext is one context for requests to several nodes. It has the values of another context and a deadline,
// which it does not enforce: the nodes do.
type deadlineContext struct {
	context.Context
	deadline time.Time
}

// withNodeDeadline returns the context of requests that begin now.
func (e *Engine) withNodeDeadline(ctx context.Context) *deadlineContext {
	return &deadlineContext{context.WithoutCancel(ctx), time.Now().Add(e.Timeout)}
}

// Deadline implements [context.Context].
func (c *deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }
