package objects

import "context"

// turn lets one call after the other use a value.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn, or until ctx ends.
func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the turn.
func (t turn) end() { <-t }
