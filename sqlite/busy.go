package sqlite

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// busyLimit is how long a change or a reading tries to get its turn.
	busyLimit = 10 * time.Second

	// The pauses between tries are random and never long: all who contend then have
	// about the same chance. SQLite's own pauses grow to 100 ms, which starves
	// those who have waited longest.
	busyPause, busyLongest = 100 * time.Microsecond, 2 * time.Millisecond
)

// turn waits for a turn among the processes that use the file.
type turn struct {
	began time.Time
	pause time.Duration
}

// again pauses and returns nil if the caller may try again.
func (t *turn) again(ctx context.Context, limit time.Duration) error {
	switch {
	case t.began.IsZero():
		t.began, t.pause = time.Now(), busyPause
	case time.Since(t.began) > limit:
		return errBusy
	default:
		t.pause = min(2*t.pause, busyLongest)
	}
	select {
	case <-time.After(rand.N(t.pause)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
