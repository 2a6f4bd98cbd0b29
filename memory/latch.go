package memory

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// latches holds all latches of an engine.
type latches struct {
	mu      sync.Mutex
	byName  map[string]*latch
	pruneAt int
}

// latch is a count that goes down to zero.
type latch struct {
	generation uint64
	setBy      string // the ID of the LatchSet that set it
	counted    map[string]struct{}
	count      int
	expires    int64
	waiting    int

	// changed is closed and replaced when the waiters have to read the latch again.
	changed chan struct{}
}

func (l *latch) state(now int64) driver.LatchState {
	return driver.LatchState{Generation: l.generation, Count: l.count, TTL: time.Duration(l.expires - now)}
}

func (l *latch) wakeLocked() {
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
	l := e.latches.findLocked(set.Name, now)
	switch {
	case l == nil:
		l = e.latches.addLocked(set.Name, now)
	case l.setBy == set.ID:
		l.expires = after(now, set.TTL)
		l.wakeLocked()
		return true, nil
	case l.count > 0:
		return false, nil
	}
	l.generation = e.tokens.Add(1)
	l.setBy = set.ID
	l.counted = nil
	l.count = set.Count
	l.expires = after(now, set.TTL)
	l.wakeLocked()
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
	l := e.latches.findLocked(d.Name, now)
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
		l.wakeLocked()
	}
	return l.state(now), nil
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(_ context.Context, name string) (driver.LatchState, error) {
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	now := e.now()
	l := e.latches.findLocked(name, now)
	if l == nil {
		return driver.LatchState{}, driver.ErrNotSet
	}
	return l.state(now), nil
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	w := latchWaiter{name: name, generation: generation}
	defer e.latches.removeWaiter(&w)
	for {
		waits, err := e.updateWaiter(&w)
		if !waits {
			return err
		}
		if err := e.waitForChange(ctx, &w); err != nil {
			return driver.NoEffect(err)
		}
	}
}

// latchWaiter is a call of WaitLatch.
type latchWaiter struct {
	name       string
	generation uint64

	latch   *latch          // the one that counts this waiter; nil if none does
	changed <-chan struct{} // closed when the latch changes
	ttl     time.Duration   // until the latch expires
}

// updateWaiter reads the latch and reports whether the caller still has to wait for it. If not, the error is ErrNotSet
// for a latch that is not set, and nil for one that is at zero or has another generation.
func (e *Engine) updateWaiter(w *latchWaiter) (waits bool, err error) {
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	w.uncountLocked()
	now := e.now()
	l := e.latches.findLocked(w.name, now)
	if l == nil {
		return false, driver.ErrNotSet
	}
	if l.count == 0 || l.generation != w.generation {
		return false, nil
	}
	l.waiting++
	w.latch, w.changed, w.ttl = l, l.changed, time.Duration(l.expires-now)
	return true, nil
}

func (ls *latches) removeWaiter(w *latchWaiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w.uncountLocked()
}

// uncountLocked takes the waiter off the count of its latch, if it is on one. latches.mu is held.
func (w *latchWaiter) uncountLocked() {
	if w.latch != nil {
		w.latch.waiting--
		w.latch = nil
	}
}

// waitForChange returns when the latch has changed or may have expired. It returns an error if ctx ends first.
func (e *Engine) waitForChange(ctx context.Context, w *latchWaiter) error {
	expired := make(chan struct{})
	stop := e.afterFunc(w.ttl, func() { close(expired) })
	defer stop()
	select {
	case <-w.changed:
	case <-expired:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// findLocked returns the latch, or nil if it is not set or has expired.
func (ls *latches) findLocked(name string, now int64) *latch {
	l := ls.byName[name]
	if l != nil && l.expires <= now {
		delete(ls.byName, name)
		return nil
	}
	return l
}

// addLocked makes a latch for a name that has none. Each time the number of latches has doubled, it removes expired
// ones.
func (ls *latches) addLocked(name string, now int64) *latch {
	if len(ls.byName) >= ls.pruneAt {
		if ls.byName == nil {
			ls.byName = make(map[string]*latch)
		}
		for name := range ls.byName {
			ls.findLocked(name, now)
		}
		ls.pruneAt = max(minPrune, 2*len(ls.byName))
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

// latchStatus returns the status of a latch, if it is set.
func (e *Engine) latchStatus(k driver.Key) (st driver.Status, ok bool) {
	e.latches.mu.Lock()
	defer e.latches.mu.Unlock()
	now := e.now()
	l := e.latches.findLocked(k.Name, now)
	if l == nil {
		return st, false
	}
	state := l.state(now)
	return driver.Status{Key: k, Waiting: l.waiting, Latch: &state}, true
}
