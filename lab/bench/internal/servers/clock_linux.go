package servers

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime returns what a process has used so far, with all of its threads, or zero if it has
// ended. It is exact; /proc counts in hundredths of a second.
func ProcessorTime(pid int) time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED; clock_getcpuclockid(3) computes the same id from a pid
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
