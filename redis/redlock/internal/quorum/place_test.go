package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// place is a simulated server, which all clients share: an engine that can crash, freeze, and has a clock of its own.
type place struct {
	clock  *clock
	maxTTL time.Duration
	plant  plant

	mu      sync.Mutex
	engine  *memory.Engine
	begun   time.Time     // when the server was started, or will be
	trusted bool          // nothing can have been lost there
	met     time.Time     // when somebody asked for a grant first since it was started or replaced; zero if nobody has
	cut     chan struct{} // closed when connections break
	thawed  chan struct{} // closed unless it is frozen
	known   grants
}

// plant is a fault of servers, for tests of the tests.
type plant struct {
	noQuarantine, byUptime, noFloor, plainDelete, looseRaise, noRaise bool
}

// closedError is the answer of a place that was started a short while ago.
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

// newPlace has a clock that is off from the start, and runs at another rate than that of clients.
func newPlace(off time.Duration, rate float64, maxTTL time.Duration) *place {
	p := &place{
		clock: newClock(off, rate), maxTTL: maxTTL, begun: time.Now(), trusted: true,
		cut: make(chan struct{}), thawed: make(chan struct{}), known: grants{},
	}
	close(p.thawed)
	p.engine = memory.New(memory.WithClock(p.clock))
	return p
}

// crash breaks all connections, and keeps the place down for a while. Without its data it also forgets its counter.
func (p *place) crash(down time.Duration, data bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.engine
	if !data {
		e = memory.New(memory.WithClock(p.clock))
	}
	p.begin(e, time.Now().Add(down))
}

// replace gives the address of the place to a spare, which knows nothing, has run for long, and has a clock of its own.
func (p *place) replace(off time.Duration, rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = newClock(off, rate)
	p.begin(memory.New(memory.WithClock(p.clock)), time.Now().Add(-24*time.Hour))
}

// begin breaks all connections, and lets another server answer to new ones. mu is held.
func (p *place) begin(e *memory.Engine, begun time.Time) {
	p.engine, p.begun, p.trusted, p.met = e, begun, false, time.Time{}
	close(p.cut)
	p.cut = make(chan struct{})
}

func (p *place) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
		p.thawed = make(chan struct{})
	default:
	}
}

func (p *place) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

// jump sets the clock forward, or backward: it then stands until it has been caught up with.
func (p *place) jump(d time.Duration) {
	p.mu.Lock()
	e, clock := p.engine, p.clock
	p.mu.Unlock()
	clock.jump(d)
	_, _ = e.List(context.Background(), driver.Query{}) // lets those in whose turn it is now
}

// connection returns what breaks with the connections that exist now.
func (p *place) connection() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// reach waits while the place is frozen, and returns its engine if it is up.
func (p *place) reach(ctx context.Context, connection <-chan struct{}) (*memory.Engine, error) {
	p.mu.Lock()
	thawed := p.thawed
	p.mu.Unlock()
	select {
	case <-thawed:
	case <-connection:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-connection:
		return nil, errCut
	default:
	}
	if time.Now().Before(p.begun) {
		return nil, errCut
	}
	return p.engine, nil
}

// open fails if the place grants nothing yet. Who asks first puts a mark there: from then on it counts.
func (p *place) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.met.IsZero() {
		p.met = time.Now()
	}
	if until := p.opens(); !p.plant.noQuarantine && time.Now().Before(until) {
		return driver.NoEffect(&closedError{until})
	}
	return nil
}

// opens returns when the place grants something. mu is held.
func (p *place) opens() time.Time {
	switch {
	case p.trusted:
		return time.Time{}
	case p.plant.byUptime:
		return p.begun.Add(p.maxTTL)
	case p.met.IsZero():
		return time.Now().Add(p.maxTTL)
	}
	return p.met.Add(p.maxTTL)
}

// settled returns when a place that crashed will grant again, if somebody asks it now.
func (p *place) settled() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opens()
}

func (p *place) take(e *memory.Engine, r driver.Request) (driver.Grant, error) {
	if err := p.open(); err != nil {
		return driver.Grant{}, err
	}
	r = p.asked(r)
	g, err := e.Take(context.Background(), r)
	if err == nil {
		p.note(driver.Hold{Key: r.Key, Owner: r.Owner}, g.Token, r.Tokens)
	}
	return g, err
}

func (p *place) asked(r driver.Request) driver.Request {
	if p.plant.noFloor {
		r.Floor = 0
	}
	return r
}

func (p *place) raise(e *memory.Engine, r driver.Raise) error {
	if err := p.open(); err != nil { // it may not say yes, either: see package redlock
		return err
	}
	if p.plant.noRaise {
		return nil
	}
	err := e.Raise(context.Background(), r)
	if err == nil {
		p.note(driver.Hold{Key: r.Key, Owner: r.Owner}, r.Token, r.Tokens)
	}
	if p.plant.looseRaise {
		return nil
	}
	return err
}

func (p *place) release(e *memory.Engine, r driver.Release) error {
	err := e.Release(context.Background(), r)
	if p.plant.plainDelete && err != nil {
		page, _ := e.List(context.Background(), driver.Query{Kind: r.Kind, Name: r.Name})
		for _, s := range page {
			for _, h := range s.Holders {
				return e.ForceRelease(context.Background(), r.Key, h.Token)
			}
		}
	}
	return err
}

// clock is off, runs at another rate than that of clients, and jumps.
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
