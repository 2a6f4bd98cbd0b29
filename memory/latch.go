package memory

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// latches are all latches of an engine.
type latches struct {
	mu      sync.Mutex
	byName  map[string]*latch
	sweepAt int
}

// latch is a count that goes down to zero.
type latch struct {
	generation uint64
	setBy      string // the ID of the TrySet
	counted    map[string]struct{}
	count      int
	expires    int64
	waiting    int

	// changed is closed, and made anew, when those who wait must look again.
	changed chan struct{}
}

func (l *latch) state(now int64) driver.LatchState {
	return driver.LatchState{Generation: l.generation, Count: l.count, TTL: time.Duration(l.expires - now)}
}

func (l *latch) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// TrySet implements [driver.Latcher].
func (e *Engine) TrySet(ctx context.Context, set driver.LatchSet) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, driver.NoEffect(err)
	}
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	now := e.now()
	l := e.latches.find(set.Name, now)
	switch {
	case l == nil:
		l = e.latches.add(set.Name, now)
	case l.setBy == set.ID:
		l.expires = after(now, set.TTL)
		l.wake()
		return true, nil
	case l.count > 0:
		return false, nil
	}
	l.generation = e.tokens.Add(1)
	l.setBy = set.ID
	l.counted = nil
	l.count = set.Count
	l.expires = after(now, set.TTL)
	l.wake()
	return true, nil
}

// CountDown implements [driver.Latcher].
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	if err := ctx.Err(); err != nil {
		return driver.LatchState{}, driver.NoEffect(err)
	}
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	now := e.now()
	l := e.latches.find(d.Name, now)
	if l == nil {
		return driver.LatchState{}, driver.ErrNotSet
	}
	if _, again := l.counted[d.ID]; again {
		return l.state(now), nil
	}
	if l.count > 0 {
		if l.counted == nil {
			l.counted = make(map[string]struct{})
		}
		l.counted[d.ID] = struct{}{}
		l.count--
	}
	sooner := after(now, d.TTL) < l.expires
	l.expires = after(now, d.TTL)
	if l.count == 0 || sooner {
		l.wake()
	}
	return l.state(now), nil
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(_ context.Context, name string) (driver.LatchState, error) {
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	now := e.now()
	l := e.latches.find(name, now)
	if l == nil {
		return driver.LatchState{}, driver.ErrNotSet
	}
	return l.state(now), nil
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	for {
		now := e.now()
		l := e.latches.find(name, now)
		if l == nil {
			return driver.ErrNotSet
		}
		if l.count == 0 || l.generation != generation {
			return nil
		}
		if err := e.awaitChange(ctx, l, time.Duration(l.expires-now)); err != nil {
			return driver.NoEffect(err)
		}
	}
}

// awaitChange unlocks the latches until the latch has changed, or its time may have run out.
func (e *Engine) awaitChange(ctx context.Context, l *latch, ttl time.Duration) error {
	changed := l.changed
	l.waiting++
	e.latches.mu.Unlock()
	defer func() {
		e.latches.mu.Lock()
		l.waiting--
	}()
	lapsed := make(chan struct{})
	stop := e.afterFunc(ttl, func() { close(lapsed) })
	defer stop()
	select {
	case <-changed:
	case <-lapsed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// find returns the latch, or nil if it is not set or its time has run out.
func (ls *latches) find(name string, now int64) *latch {
	l := ls.byName[name]
	if l != nil && l.expires <= now {
		delete(ls.byName, name)
		return nil
	}
	return l
}

// add makes a latch for a name that has none. Each time the number of latches has
// doubled it forgets those whose time has run out.
func (ls *latches) add(name string, now int64) *latch {
	if len(ls.byName) >= ls.sweepAt {
		if ls.byName == nil {
			ls.byName = make(map[string]*latch)
		}
		for name := range ls.byName {
			ls.find(name, now)
		}
		ls.sweepAt = max(leastSweep, 2*len(ls.byName))
	}
	l := &latch{changed: make(chan struct{})}
	ls.byName[name] = l
	return l
}

func (ls *latches) each(f func(name string)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for name := range ls.byName {
		f(name)
	}
}

// latchStatus reports what is known of a latch, if it is set.
func (e *Engine) latchStatus(k driver.Key) (st driver.Status, ok bool) {
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	now := e.now()
	l := e.latches.find(k.Name, now)
	if l == nil {
		return st, false
	}
	state := l.state(now)
	return driver.Status{Key: k, Waiting: l.waiting, Latch: &state}, true
}
