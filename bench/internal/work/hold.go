package work

import (
	"runtime"
	"time"
)

// hold lets d pass. A timer comes up to a millisecond late, and later if others run, which would count as time that the library
// takes, so the last part is spent looking at the clock, and letting others run.
func hold(d time.Duration) {
	const late = 2 * time.Millisecond
	began := time.Now()
	time.Sleep(d - late)
	for time.Since(began) < d {
		runtime.Gosched()
	}
}
