package driver

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Clock ids of clock_gettime(2).
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// fresh is how long a reading of the suspended time may be used. So right after the machine has
// woken up, the earlier reading is used for one more millisecond, well within the allowance for
// drift.
const fresh = time.Millisecond

type reading struct {
	at        time.Time
	suspended time.Duration
}

var latest atomic.Pointer[reading]

// suspended returns how long the machine has been suspended since it booted. It costs two system calls,
// so a recent reading is used again.
func suspended(now time.Time) time.Duration {
	if r := latest.Load(); r != nil {
		if age := now.Sub(r.at); age >= 0 && age < fresh {
			return r.suspended
		}
	}
	r := &reading{at: now, suspended: readSuspended()}
	latest.Store(r)
	return r.suspended
}

// readSuspended returns the difference between CLOCK_BOOTTIME, which counts the time that the
// machine was suspended, and CLOCK_MONOTONIC, which does not. A pause between the readings would
// look like a suspension, so a slow reading is repeated, and the least uncertain one is used.
func readSuspended() time.Duration {
	var best, uncertainty time.Duration
	for try := range 3 {
		before, ok := gettime(clockBoottime)
		if !ok {
			return 0
		}
		monotonic, ok := gettime(clockMonotonic)
		if !ok {
			return 0
		}
		after, _ := gettime(clockBoottime)
		if took := after - before; try == 0 || took < uncertainty {
			best, uncertainty = before-monotonic, took
		}
		if uncertainty < time.Millisecond {
			break
		}
	}
	return best
}

// gettime calls the kernel directly: the reading neither blocks nor sleeps, so
// the scheduler need not be told.
func gettime(clock uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
