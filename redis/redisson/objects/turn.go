package objects

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold"
)

// turn lets one call after the other use a value: it has room for one.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. It returns an error if ctx ends first, or leasehold.ErrTimeout when limit has passed, if
// that is above 0.
func (t turn) take(ctx context.Context, limit time.Duration) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-waiting.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return leasehold.ErrTimeout
}

// end ends the turn.
func (t turn) end() { <-t }
