// Package schedule calls a function with what is due. All entries share one timer, and no goroutine runs while nothing
// is due. It does not rely on the timer alone, because timers stop while the machine is suspended.
package schedule

import (
	"math"
	"slices"
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
	// maxDue is how many entries onDue gets at a time. After that what has become due meanwhile is looked at, too, with
	// a new time, and the soonest goes first: so a process that is late with thousands of entries is not late with all.
	maxDue = 1024
	// patience is how long onDue may take before what becomes due is no longer left to this run, but to a second one:
	// an observer may block. While all goes well, one run at a time leaves the processor to others.
	patience = 100 * time.Millisecond
)

// Schedule keeps entries until they are due. It is safe for concurrent use.
type Schedule[T any] struct {
	onDue   func(due []T, now driver.Instant)
	start   driver.Instant // zero of the clock
	running sync.WaitGroup // calls of onDue, and what Go has started

	mu      sync.Mutex
	entries agenda.Agenda[T]
	buffer  []T // for entries that are due; nil while it is in use
	timer   *time.Timer
	timerAt time.Duration  // when the timer fires; 0 if it is not set; see takeDue
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
	due, ok := s.begin()
	if !ok {
		return
	}
	defer s.running.Done()
	for due = s.takeDue(due); len(due) > 0; due = s.takeDue(due[:0]) {
		for part := range slices.Chunk(due, maxDue) {
			s.onDue(part, driver.Now())
		}
		clear(due)
	}
	s.end(due)
}

// begin returns memory for the entries that are due. ok is false after Stop; otherwise the caller must call
// running.Done.
func (s *Schedule[T]) begin() (buffer []T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, false
	}
	s.running.Add(1)
	s.timerAt = 0
	buffer, s.buffer = s.buffer, nil // another run may begin meanwhile, which makes its own
	return buffer, true
}

// takeDue removes the entries that are due now and appends them to to: all after a jump of the clock, else at most
// maxDue. If there are any, no entry that is set moves the timer, which fires if onDue takes too long.
func (s *Schedule[T]) takeDue(to []T) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := driver.Now()
	ran := now.Time().Sub(s.lastRun.Time())
	jumped := now.Since(s.lastRun)-ran > clockJump
	s.lastRun = now
	if jumped {
		to = s.entries.All(to) // the machine slept, or its clock was set: deadlines have moved
	} else {
		to = s.entries.Due(s.At(now), to, maxDue)
	}
	if len(to) > 0 && !s.stopped {
		s.timerAt = alreadySet
		s.timer.Reset(patience)
	}
	return to
}

// alreadySet is a timerAt that no entry is before.
const alreadySet = math.MinInt64

// end sets the timer for what is due next.
func (s *Schedule[T]) end(buffer []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buffer = buffer
	s.timer.Stop()
	s.timerAt = 0
	if next, any := s.entries.Next(); any && !s.stopped {
		s.armLocked(next)
	}
}
