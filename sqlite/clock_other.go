//go:build !linux

package sqlite

import "time"

// machineClock returns the wall clock: the only clock that all processes share everywhere.
func machineClock() (clock, error) {
	return clock{boot: wallClock, now: func() int64 { return time.Now().UnixMicro() }}, nil
}
