package driver

import "time"

// Instant is a moment on every clock of the machine: the monotonic clock, the wall clock, and (on
// Linux) the time that the machine has spent suspended, during which Go's monotonic clock stands
// still. Deadlines of leases are measured with it, so the clock that has advanced most decides when a
// lease ends: ending too early costs a lock, ending too late breaks the promise.
//
// Only durations between Instants of one process mean anything. The zero Instant means "not known".
type Instant struct {
	time   time.Time
	asleep time.Duration // total suspended time, counted from an arbitrary start
}

// minSleep separates a suspension from the error of reading two clocks. No machine sleeps for
// less.
const minSleep = 10 * time.Millisecond

// Now reads the clocks. It is safe for concurrent use, and follows virtual time
// inside testing/synctest.
func Now() Instant {
	now := time.Now()
	return Instant{time: now, asleep: suspended(now)}
}

// IsZero reports whether i is the zero Instant.
func (i Instant) IsZero() bool { return i.time.IsZero() }

// Since returns the time from then to i on the clock that has advanced most. It is negative only if i
// is before then.
func (i Instant) Since(then Instant) time.Duration {
	monotonic := i.time.Sub(then.time)
	if asleep := i.asleep - then.asleep; asleep >= minSleep {
		monotonic += asleep
	}
	wall := i.time.Round(0).Sub(then.time.Round(0))
	return max(monotonic, wall)
}

// Add returns the moment d after i, on all clocks.
func (i Instant) Add(d time.Duration) Instant {
	i.time = i.time.Add(d)
	return i
}

// Time returns i as a time.Time, with its monotonic reading.
func (i Instant) Time() time.Time { return i.time }

// Drift is by how much clocks whose rates differ may come apart in the time d, as the core and the engines count: 1 %
// of it + 2 ms. So much is taken off a lease.
func Drift(d time.Duration) time.Duration { return d/100 + 2*time.Millisecond }
