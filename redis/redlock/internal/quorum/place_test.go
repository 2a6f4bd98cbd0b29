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
	begun   time.Time     // when it was started the last time, or will be
	crashed bool          // at least once
	cut     chan struct{} // closed when connections break
	thawed  chan struct{} // closed unless it is frozen
}

// plant is a fault of servers, for tests of the tests.
type plant struct {
	noQuarantine, noFloor, plainDelete, looseRaise, noRaise bool
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

func newPlace(rate float64, maxTTL time.Duration) *place {
	p := &place{clock: newClock(rate), maxTTL: maxTTL, begun: time.Now(), cut: make(chan struct{}), thawed: make(chan struct{})}
	close(p.thawed)
	p.engine = memory.New(memory.WithClock(p.clock))
	return p
}

// crash breaks all connections, and keeps the place down for a while. Without its data it also forgets its counter.
func (p *place) crash(down time.Duration, data bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun, p.crashed = time.Now().Add(down), true
	close(p.cut)
	p.cut = make(chan struct{})
	if !data {
		p.engine = memory.New(memory.WithClock(p.clock))
	}
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
	p.clock.jump(d)
	p.mu.Lock()
	e := p.engine
	p.mu.Unlock()
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

// open fails if the place grants nothing yet.
func (p *place) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.begun.Add(p.maxTTL); p.crashed && !p.plant.noQuarantine && time.Now().Before(until) {
		return driver.NoEffect(&closedError{until})
	}
	return nil
}

// settled returns when a place that crashed will grant again.
func (p *place) settled() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.crashed {
		return time.Time{}
	}
	return p.begun.Add(p.maxTTL)
}

func (p *place) take(e *memory.Engine, r driver.Request) (driver.Grant, error) {
	if err := p.open(); err != nil {
		return driver.Grant{}, err
	}
	return e.Take(context.Background(), p.asked(r))
}

func (p *place) asked(r driver.Request) driver.Request {
	if p.plant.noFloor {
		r.Floor = 0
	}
	return r
}

func (p *place) raise(e *memory.Engine, r driver.Raise) error {
	if p.plant.noRaise {
		return nil
	}
	err := e.Raise(context.Background(), r)
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

// clock runs at another rate than that of clients, and jumps.
type clock struct {
	start time.Time
	rate  float64

	mu   sync.Mutex
	off  time.Duration
	last time.Time
}

func newClock(rate float64) *clock { return &clock{start: time.Now(), rate: rate} }

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
