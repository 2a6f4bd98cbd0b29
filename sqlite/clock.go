package sqlite

import (
	"math"
	"time"
)

// clock is what the expiry of leases in a file is measured by. All processes that share the file must read the same
// clock.
type clock struct {
	// boot identifies the start of the machine from which the clock counts. It is wallClock for the wall clock, which
	// no restart sets back.
	boot string

	// now returns microseconds. The clock never goes back, and continues while the machine is suspended.
	now func() int64
}

// wallClock stands for a boot where restarts of the machine cannot be detected.
const wallClock = "wall clock"

// survivesRestart reports whether the clock continues over a restart of the machine, which then cannot be detected.
func (c clock) survivesRestart() bool { return c.boot == wallClock }

// micros rounds up, so that no lease is shorter than requested.
func micros(d time.Duration) int64 {
	n := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		n++
	}
	return n
}

// duration converts back from microseconds.
func duration(micros int64) time.Duration {
	const most = math.MaxInt64 / 2 / int64(time.Microsecond) // something may be added to it
	return time.Duration(max(min(micros, most), -most)) * time.Microsecond
}
