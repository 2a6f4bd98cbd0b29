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
	err = e.ask(ctx, latching, []any{&set}, e.statements.latchSet, s.Name, s.ID, int32(s.Count), whole(s.TTL))
	return set && err == nil, err
}

// CountDown implements [driver.Latcher].
func (e *Engine) CountDown(ctx context.Context, d driver.LatchDown) (driver.LatchState, error) {
	return askLatch(ctx, e.ask, latching, e.statements.latchDown, d.Name, d.ID, whole(d.TTL))
}

// LatchState implements [driver.Latcher].
func (e *Engine) LatchState(ctx context.Context, name string) (driver.LatchState, error) {
	if bare, err := e.bare(ctx); bare || err != nil {
		return driver.LatchState{}, cmp.Or(err, driver.ErrNotSet)
	}
	return askLatch(ctx, e.read, looking, e.statements.latchState, name)
}

// askFunc is Engine.ask, or Engine.read.
type askFunc = func(ctx context.Context, of purpose, dest []any, query string, args ...any) error

// askLatch runs a statement that answers with what a latch stands at.
func askLatch(ctx context.Context, ask askFunc, of purpose, query string, args ...any) (driver.LatchState, error) {
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
	defer e.ears.hear(name, wake)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for looks := 0; ; looks++ {
		st, err := e.lookAtLatch(ctx, name, generation)
		if err != nil || st.Count == 0 || st.Generation != generation {
			return err
		}
		pause := lookEvery
		if e.polling {
			pause = min(pollFirst<<min(looks, 8), pollLast)
		}
		timer.Reset(min(pause, st.TTL+time.Millisecond))
		select {
		case <-wake:
		case <-timer.C:
		case <-ctx.Done():
			return driver.NoEffect(ctx.Err())
		case <-e.life.Done():
			return errClosed
		}
	}
}

// lookAtLatch reads a latch once, and has this engine told when it changes.
func (e *Engine) lookAtLatch(ctx context.Context, name string, generation uint64) (driver.LatchState, error) {
	inner, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	var ear *int64
	if !e.polling {
		number, err := e.ears.listen(inner)
		if err != nil {
			return driver.LatchState{}, err
		}
		ear = &number
	}
	st, err := askLatch(inner, e.ask, latching, e.statements.latchWait, name, ear, int64(generation))
	if err != nil && ctx.Err() != nil {
		err = driver.NoEffect(ctx.Err())
	}
	return st, err
}
