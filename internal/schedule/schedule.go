// Package schedule calls a function with what is due. All entries share one timer, and no goroutine runs while nothing
// is due. It does not rely on the timer alone, because timers stop while the machine is suspended.
package schedule

import (
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/agenda"
)

// Entry is an entry of a schedule. Make it a field of the thing that it stands for, and set its Value once.
type Entry[T any] = agenda.Entry[T]

// Tick is the resolution: an entry is due up to one Tick early, and never late.
const Tick = agenda.Tick

const (
	// maxSleep limits how long the schedule sleeps while it has entries: timers stop while the machine is suspended,
	// but leases go on.
	maxSleep = time.Second
	// clockJump is the difference between clocks that makes all entries due.
	clockJump = 10 * time.Millisecond
)

// Schedule keeps entries until they are due. It is safe for concurrent use.
type Schedule[T any] struct {
	onDue   func(due []T, now driver.Instant)
	start   driver.Instant // zero of the clock
	running sync.WaitGroup // calls of onDue, and what Go has started

	mu      sync.Mutex
	entries agenda.Agenda[T]
	timer   *time.Timer
	timerAt time.Duration  // when the timer fires; 0 if it is not set
	lastRun driver.Instant // when due entries were last taken
	stopped bool
}

// Init makes the schedule ready for use. onDue gets the values of the entries that are due, which the schedule has no
// longer. It is never called twice at once for the same entry, unless that was set again.
func (s *Schedule[T]) Init(onDue func(due []T, now driver.Instant)) {
	s.onDue, s.start = onDue, driver.Now()
	s.lastRun = s.start
	s.timer = time.AfterFunc(time.Hour, s.run)
	s.timer.Stop()
}

// At returns an instant on the clock of the schedule, which is Go's monotonic clock.
func (s *Schedule[T]) At(i driver.Instant) time.Duration { return i.Time().Sub(s.start.Time()) }

// Now returns the time on the clock of the schedule.
func (s *Schedule[T]) Now() time.Duration { return time.Since(s.start.Time()) }

// Set adds e with the time at, or moves it there. It reports false, and does nothing, after Stop.
func (s *Schedule[T]) Set(e *Entry[T], at time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.entries.Set(e, max(at, 0))
	if s.timerAt == 0 || at < s.timerAt {
		s.armLocked(at)
	}
	return true
}

// Remove removes e.
func (s *Schedule[T]) Remove(e *Entry[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries.Remove(e)
}

// armLocked sets the timer.
func (s *Schedule[T]) armLocked(at time.Duration) {
	now := s.Now()
	at = min(max(at, now), now+maxSleep)
	s.timerAt = max(at, 1)
	s.timer.Reset(at - now)
}

// Go runs f in a goroutine that Wait waits for. It reports false, and does nothing, after Stop.
func (s *Schedule[T]) Go(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.running.Go(f)
	}
	return !s.stopped
}

// Stop empties the schedule for good and returns what was in it.
func (s *Schedule[T]) Stop() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.timer.Stop()
	return s.entries.All(nil)
}

// Wait waits, after Stop, until nothing runs any more.
func (s *Schedule[T]) Wait() { s.running.Wait() }

// run calls onDue. It runs when the timer fires.
func (s *Schedule[T]) run() {
	due, now, ok := s.takeDue()
	if !ok {
		return
	}
	defer s.running.Done()
	if len(due) > 0 {
		s.onDue(due, now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if next, any := s.entries.Next(); any && !s.stopped && (s.timerAt == 0 || next < s.timerAt) {
		s.armLocked(next)
	}
}

// takeDue removes the entries that are due now. ok is false after Stop; otherwise the caller must call running.Done.
func (s *Schedule[T]) takeDue() (due []T, now driver.Instant, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, now, false
	}
	s.running.Add(1)
	now = driver.Now()
	ran := now.Time().Sub(s.lastRun.Time())
	s.timerAt = 0
	if now.Since(s.lastRun)-ran > clockJump {
		due = s.entries.All(nil) // the machine slept, or its clock was set: deadlines have moved
	} else {
		due = s.entries.Due(s.At(now), nil)
	}
	s.lastRun = now
	return due, now, true
}
