package work

import (
	"runtime"
	"time"
)

// spin waits for d. A timer is up to a millisecond late, and later if others run, which would count
// as the library's time. So spin polls the clock for the last part, and lets others run meanwhile.
func spin(d time.Duration) {
	const late = 2 * time.Millisecond
	began := time.Now()
	time.Sleep(d - late)
	for time.Since(began) < d {
		runtime.Gosched()
	}
}
