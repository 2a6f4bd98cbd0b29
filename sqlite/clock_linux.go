package sqlite

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	bootIDFile     = "/proc/sys/kernel/random/boot_id"
	timeOffsetFile = "/proc/self/timens_offsets"
)

// machineClock returns CLOCK_BOOTTIME, which cannot be set, and which continues while the machine is suspended.
func machineClock() (clock, error) {
	id, err := os.ReadFile(bootIDFile)
	if err != nil {
		return clock{}, fmt.Errorf("reading what names this start of the machine (is /proc mounted?): %w", err)
	}
	// Kernels without time namespaces do not have the file.
	offsets, _ := os.ReadFile(timeOffsetFile)
	shift := bootTimeOffset(string(offsets))
	return clock{
		boot: strings.TrimSpace(string(id)),
		now: func() int64 {
			var ts unix.Timespec
			// It cannot fail with this clock and a pointer of our own.
			_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
			return (ts.Nano() - int64(shift)) / int64(time.Microsecond)
		},
	}, nil
}

// bootTimeOffset returns how far the clock of a container with its own time namespace is ahead of the machine's. See
// time_namespaces(7).
func bootTimeOffset(offsets string) time.Duration {
	for line := range strings.Lines(offsets) {
		var sec, nsec int64
		if n, _ := fmt.Sscanf(line, "boottime %d %d", &sec, &nsec); n == 2 {
			return time.Duration(sec)*time.Second + time.Duration(nsec)
		}
	}
	return 0
}
