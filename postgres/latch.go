package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// TrySet implements [driver.Latcher]. Latches survive a crash of the server.
func (e *Engine) TrySet(ctx context.Context, s driver.LatchSet) (set bool, err error) {
	err = e.ask(ctx, toLatch, []any{&set}, e.statements.latchSet, s.Name, s.ID, int32(s.Count), roundUpMicros(s.TTL))
	return set && err == nil, err
}

// CountDown implements [driver.Latcher].
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	return askLatch(ctx, e.ask, toLatch, e.statements.latchDown, d.Name, d.ID, roundUpMicros(d.TTL))
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	if empty, err := e.hasNoTables(ctx); empty || err != nil {
		return driver.LatchState{}, cmp.Or(err, driver.ErrNotSet)
	}
	return askLatch(ctx, e.read, toLook, e.statements.latchState, name)
}

// queryFunc is Engine.ask or Engine.read.
type queryFunc = func(ctx context.Context, of purpose, dest []any, query string, args ...any) error

// askLatch runs a statement that answers with the state of a latch.
func askLatch(ctx context.Context, ask queryFunc, of purpose, query string, args ...any) (driver.LatchState, error) {
	var generation *int64
	var count *int32
	var remains *time.Duration
	err := ask(ctx, of, []any{&generation, &count, &remains}, query, args...)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && generation == nil:
		return driver.LatchState{}, driver.ErrNotSet
	case err != nil:
		return driver.LatchState{}, err
	case *generation <= 0 || *count < 0:
		return driver.LatchState{}, errLatch
	}
	return driver.LatchState{Generation: uint64(*generation), Count: int(*count), TTL: max(*remains, 0)}, nil
}

// WaitLatch implements [driver.Latcher].
func (e *Engine) WaitLatch(ctx context.Context, name string, generation uint64) error {
	wake := make(chan struct{}, 1)
	defer e.subscription.watchLatch(name, wake)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for polls := 0; ; polls++ {
		st, err := e.readLatchOnce(ctx, name, generation)
		if err != nil || st.Count == 0 || st.Generation != generation {
			return err
		}
		pause := maxPollPause
		if e.polling {
			pause = min(pollingInitial<<min(polls, 8), pollingMax)
		}
		timer.Reset(min(pause, st.TTL+time.Millisecond))
		select {
		case <-wake:
		case <-timer.C:
		case <-ctx.Done():
			return driver.NoEffect(ctx.Err())
		case <-e.ctx.Done():
			return errClosed
		}
	}
}

// readLatchOnce reads a latch once, and has the server notify this engine of its next change.
func (e *Engine) readLatchOnce(ctx context.Context, name string, generation uint64) (driver.LatchState, error) {
	inner, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	var listener *int64
	if !e.polling {
		number, err := e.subscription.subscribe(inner)
		if err != nil {
			return driver.LatchState{}, err
		}
		listener = &number
	}
	st, err := askLatch(inner, e.ask, toLatch, e.statements.latchWait, name, listener, int64(generation))
	if err != nil && ctx.Err() != nil {
		err = driver.NoEffect(ctx.Err())
	}
	return st, err
}
