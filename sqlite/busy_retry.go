package sqlite

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// busyLimit is how long a transaction or a read tries to lock the file.
	busyLimit = 10 * time.Second

	// The pauses between attempts are random and never long, so that all who contend have about the same chance.
	// SQLite's own pauses grow to 100 ms, which starves those that have waited longest.
	minBusyPause, maxBusyPause = 100 * time.Microsecond, 2 * time.Millisecond
)

// busyRetry repeats an attempt while other processes have the file locked. The zero value is ready for use.
type busyRetry struct {
	began time.Time
	pause time.Duration
}

// wait pauses, and returns nil if the caller may try again. It returns errBusy after limit.
func (r *busyRetry) wait(ctx context.Context, limit time.Duration) error {
	switch {
	case r.began.IsZero():
		r.began, r.pause = time.Now(), minBusyPause
	case time.Since(r.began) > limit:
		return errBusy
	default:
		r.pause = min(2*r.pause, maxBusyPause)
	}
	select {
	case <-time.After(rand.N(r.pause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
