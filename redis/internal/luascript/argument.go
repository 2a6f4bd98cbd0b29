package luascript

import (
	"math"
	"strings"
	"time"
)

// Millis converts a duration for scripts, rounded up.
func Millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Duration converts milliseconds. It limits the result, as a key may have any expiry.
func Duration(ms int64) time.Duration {
	const limit = math.MaxInt64 / 2 / int64(time.Millisecond) // something may be added to it
	return time.Duration(max(min(ms, limit), -limit)) * time.Millisecond
}

// WithoutNUL removes NUL bytes, at which scripts would cut a text.
func WithoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "") }
