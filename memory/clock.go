package memory

import (
	"slices"
	"sync"
	"time"
)

// Clock tells an engine the time. Its methods must be safe for concurrent use.
type Clock interface {
	// Now returns the time. It must not go back.
	Now() time.Time

	// AfterFunc calls f once d has passed, never before AfterFunc itself returns. The function that it returns cancels
	// the call and reports whether it did so in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// ManualClock is a [Clock] that stands still until [ManualClock.Advance] moves it. It serves tests of what happens when
// leases expire. It is safe for concurrent use.
type ManualClock struct {
	mu      sync.Mutex
	now     time.Time
	pending []*alarm // by due
}

type alarm struct {
	due time.Time
	f   func()
}

// NewManualClock returns a clock that shows the time start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start}
}

// Now returns the time that the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]. A function that is due at once is called by the next Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{due: c.now.Add(d), f: f}
	i := len(c.pending)
	for i > 0 && c.pending[i-1].due.After(a.due) {
		i--
	}
	c.pending = slices.Insert(c.pending, i, a)
	return func() bool { return c.cancel(a) }
}

// Advance moves the clock forward by d and calls the functions that fall due on the way, in order, each at its own
// time. It returns when all of them have returned.
func (c *ManualClock) Advance(d time.Duration) {
	end := c.Now().Add(d)
	for {
		f := c.advanceToNext(end)
		if f == nil {
			return
		}
		f()
	}
}

// advanceToNext moves the clock to the next alarm that is due by end and returns its function. If there is none, it
// moves the clock to end and returns nil.
func (c *ManualClock) advanceToNext(end time.Time) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 || c.pending[0].due.After(end) {
		c.moveToLocked(end)
		return nil
	}
	a := c.pending[0]
	c.pending = slices.Delete(c.pending, 0, 1)
	c.moveToLocked(a.due)
	return a.f
}

// moveToLocked moves the clock to t, but never back. mu is held.
func (c *ManualClock) moveToLocked(t time.Time) {
	if t.After(c.now) {
		c.now = t
	}
}

// cancel removes an alarm and reports whether it was still pending.
func (c *ManualClock) cancel(a *alarm) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.pending, a)
	if i < 0 {
		return false
	}
	c.pending = slices.Delete(c.pending, i, i+1)
	return true
}
