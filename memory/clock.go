package memory

import (
	"slices"
	"sync"
	"time"
)

// Clock tells an engine the time. Its methods may be called from many goroutines
// at the same time.
type Clock interface {
	// Now returns the time. It must not go back.
	Now() time.Time

	// AfterFunc calls f, not before it returns itself, once d has passed. The
	// function that it returns takes that back, and reports whether it did so in
	// time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// ManualClock is a [Clock] that stands still until it is told to go on. It is
// for tests of what happens when leases end. It is safe for concurrent use.
type ManualClock struct {
	mu      sync.Mutex
	now     time.Time
	pending []*alarm // by due
}

type alarm struct {
	due time.Time
	f   func()
}

// NewManualClock returns a clock that stands at start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start}
}

// Now returns the time at which the clock stands.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]. What is due at once is called by the next Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{due: c.now.Add(d), f: f}
	i := len(c.pending)
	for i > 0 && c.pending[i-1].due.After(a.due) {
		i--
	}
	c.pending = slices.Insert(c.pending, i, a)
	return func() bool { return c.take(a) }
}

// Advance moves the clock forward by d, and calls what falls due on the way, in
// order, each at its own time. It returns when all have returned.
func (c *ManualClock) Advance(d time.Duration) {
	end := c.Now().Add(d)
	for {
		f := c.next(end)
		if f == nil {
			return
		}
		f()
	}
}

// next moves the clock to the next thing that is due until end, and returns it; nil means that
// the clock stands at end.
func (c *ManualClock) next(end time.Time) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 || c.pending[0].due.After(end) {
		c.moveTo(end)
		return nil
	}
	a := c.pending[0]
	c.pending = slices.Delete(c.pending, 0, 1)
	c.moveTo(a.due)
	return a.f
}

// moveTo moves the clock, but never back.
func (c *ManualClock) moveTo(t time.Time) {
	if t.After(c.now) {
		c.now = t
	}
}

// take removes an alarm, and reports whether it was still pending.
func (c *ManualClock) take(a *alarm) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.pending, a)
	if i < 0 {
		return false
	}
	c.pending = slices.Delete(c.pending, i, i+1)
	return true
}
