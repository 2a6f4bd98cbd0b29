package sqlite

import (
	"math"
	"time"
)

// clock is what leases in a file end by. All processes that share the file must
// read the same one.
type clock struct {
	// boot names the start of the machine from which the clock counts. It is wallClock if
	// the clock is the wall clock, which no restart sets back.
	boot string

	// now returns microseconds. It never goes back, and goes on while the machine is
	// suspended.
	now func() int64
}

// wallClock stands for a boot where restarts of the machine cannot be told.
const wallClock = "wall clock"

// survivesRestart reports whether the clock goes on when the machine starts anew,
// in which case nobody can tell that it did.
func (c clock) survivesRestart() bool { return c.boot == wallClock }

// micros rounds up, so that no lease is shorter than was asked for.
func micros(d time.Duration) int64 {
	n := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		n++
	}
	return n
}

// duration is the way back from microseconds.
func duration(micros int64) time.Duration {
	const most = math.MaxInt64 / 2 / int64(time.Microsecond) // something may be added to it
	return time.Duration(max(min(micros, most), -most)) * time.Microsecond
}
