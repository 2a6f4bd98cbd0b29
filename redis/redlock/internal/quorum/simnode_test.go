package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// simNode is a simulated server, which all clients share: an engine with a clock of its own, which can crash
// and freeze.
type simNode struct {
	clock  *clock
	maxTTL time.Duration
	faults nodeFaults

	mu             sync.Mutex
	engine         *memory.Engine
	startedAt      time.Time     // when the server was or will be started
	neverRestarted bool          // so nothing can have been lost
	firstAskedAt   time.Time     // since it was started or replaced; zero if nobody has asked for a grant
	connections    chan struct{} // closed when they break
	thawed         chan struct{} // closed unless the node is frozen
	grantsMade     grantsByToken
}

// nodeFaults are faults of nodes, to test the tests.
type nodeFaults struct {
	votesAtOnce, closedByUptime, noFloor, releasesOthers, raisesForOthers, noRaise bool
}

// closedError is the answer of a node that was started a short while ago.
type closedError struct{ until time.Time }

func (e *closedError) Error() string { return fmt.Sprintf("no grants until %v", e.until) }

func closedUntil(err error) (time.Time, bool) {
	closed, ok := errors.AsType[*closedError](err)
	if !ok {
		return time.Time{}, false
	}
	return closed.until, true
}

var errCut = errors.New("the connection broke")

// newSimNode returns a node whose clock is off from the start, and runs at another rate than those of clients.
func newSimNode(off time.Duration, rate float64, maxTTL time.Duration) *simNode {
	n := &simNode{
		clock: newClock(off, rate), maxTTL: maxTTL, startedAt: time.Now(), neverRestarted: true,
		connections: make(chan struct{}), thawed: make(chan struct{}), grantsMade: grantsByToken{},
	}
	close(n.thawed)
	n.engine = memory.New(memory.WithClock(n.clock))
	return n
}

// crash breaks all connections, and keeps the node down for a while. Without its data the node also forgets
// its counter.
func (n *simNode) crash(down time.Duration, data bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.engine
	if !data {
		e = memory.New(memory.WithClock(n.clock))
	}
	n.restartLocked(e, time.Now().Add(down))
}

// replace gives the address of the node to a spare, which knows nothing, has run for long, and has a clock of its own.
func (n *simNode) replace(off time.Duration, rate float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock = newClock(off, rate)
	n.restartLocked(memory.New(memory.WithClock(n.clock)), time.Now().Add(-24*time.Hour))
}

// restartLocked breaks all connections, and lets another server answer new ones. mu is held.
func (n *simNode) restartLocked(e *memory.Engine, begun time.Time) {
	n.engine, n.startedAt, n.neverRestarted, n.firstAskedAt = e, begun, false, time.Time{}
	close(n.connections)
	n.connections = make(chan struct{})
}

func (n *simNode) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.thawed:
		n.thawed = make(chan struct{})
	default:
	}
}

func (n *simNode) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.thawed:
	default:
		close(n.thawed)
	}
}

// jumpClock sets the clock forward, or back: then it stands still until time has caught up with it.
func (n *simNode) jumpClock(d time.Duration) {
	n.mu.Lock()
	e, clock := n.engine, n.clock
	n.mu.Unlock()
	clock.jump(d)
	_, _ = e.List(context.Background(), driver.Query{}) // grants names that have become free to their waiters
}

// connection returns a channel that is closed when the connections of now break.
func (n *simNode) connection() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.connections
}

// reach waits while the node is frozen, and returns its engine if the node is up.
func (n *simNode) reach(ctx context.Context, connection <-chan struct{}) (*memory.Engine, error) {
	n.mu.Lock()
	thawed := n.thawed
	n.mu.Unlock()
	select {
	case <-thawed:
	case <-connection:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-connection:
		return nil, errCut
	default:
	}
	if time.Now().Before(n.startedAt) {
		return nil, errCut
	}
	return n.engine, nil
}

// checkOpen fails if the node grants nothing yet. The first to ask puts a marker there, and the time counts
// from then on.
func (n *simNode) checkOpen() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.firstAskedAt.IsZero() {
		n.firstAskedAt = time.Now()
	}
	if until := n.opensLocked(); !n.faults.votesAtOnce && time.Now().Before(until) {
		return driver.NoEffect(&closedError{until})
	}
	return nil
}

// opensLocked returns when the node begins to grant. mu is held.
func (n *simNode) opensLocked() time.Time {
	switch {
	case n.neverRestarted:
		return time.Time{}
	case n.faults.closedByUptime:
		return n.startedAt.Add(n.maxTTL)
	case n.firstAskedAt.IsZero():
		return time.Now().Add(n.maxTTL)
	}
	return n.firstAskedAt.Add(n.maxTTL)
}

// opensAt returns when the node begins to grant, if somebody asks it now.
func (n *simNode) opensAt() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opensLocked()
}

func (n *simNode) take(e *memory.Engine, r quorumnode.Request) (driver.Grant, error) {
	if err := n.checkOpen(); err != nil {
		return driver.Grant{}, closedAnswer(r.Join, err)
	}
	r = n.receivedRequest(r)
	g, err := e.TakeFrom(context.Background(), r)
	if err == nil {
		n.noteGrant(driver.Hold{Key: r.Key, Owner: r.Owner}, g.Token, r.Tokens)
	}
	return g, err
}

// closedAnswer is the answer of a node that grants nothing yet. As on the engine redis, a caller that waits is told
// that this is the reason.
func closedAnswer(waits bool, closed error) error {
	if waits {
		return fmt.Errorf("%w: %w", driver.ErrHeld, closed)
	}
	return closed
}

func (n *simNode) receivedRequest(r quorumnode.Request) quorumnode.Request {
	if n.faults.noFloor {
		r.Floor = 0
	}
	return r
}

func (n *simNode) raise(e *memory.Engine, r quorumnode.Raise) error {
	if err := n.checkOpen(); err != nil { // not even a yes counts: see package redlock
		return err
	}
	if n.faults.noRaise {
		return nil
	}
	err := e.Raise(context.Background(), r)
	if err == nil {
		n.noteGrant(driver.Hold{Key: r.Key, Owner: r.Owner}, r.Token, r.Tokens)
	}
	if n.faults.raisesForOthers {
		return nil
	}
	return err
}

func (n *simNode) release(e *memory.Engine, r driver.Release) error {
	err := e.Release(context.Background(), r)
	if n.faults.releasesOthers && err != nil {
		page, _ := e.List(context.Background(), driver.Query{Kind: r.Kind, Name: r.Name})
		for _, s := range page {
			for _, h := range s.Holders {
				return e.ForceRelease(context.Background(), r.Key, h.Token)
			}
		}
	}
	return err
}

// clock is off, runs at another rate than those of clients, and jumps.
type clock struct {
	start time.Time
	rate  float64

	mu   sync.Mutex
	off  time.Duration
	last time.Time
}

func newClock(off time.Duration, rate float64) *clock {
	return &clock{start: time.Now(), rate: rate, off: off}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.start.Add(time.Duration(float64(time.Since(c.start))*c.rate) + c.off)
	if now.After(c.last) {
		c.last = now
	}
	return c.last
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(time.Duration(float64(max(d, 0))/c.rate)+time.Microsecond, f).Stop
}

func (c *clock) jump(d time.Duration) {
	c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}
