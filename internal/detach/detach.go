// Package detach lets a caller leave a call that cannot be interrupted: the call runs in a goroutine of its own, and
// goes on there after the caller has left.
package detach

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Do returns what f returns, or an error when ctx ends before f has returned. That error wraps ctx.Err() and is
// [driver.Spent], because f goes on, and it or late may release its owner at any later time. If f returns after all,
// late gets the outcome, unless late is nil. If ctx has ended before, f is not called, and the error says that there
// was no effect.
//
// It is safe for concurrent use. A panic of f is not recovered.
func Do[T any](
	ctx context.Context, p *Pool, f func(context.Context) (T, error), late func(T, error),
) (value T, err error) {
	if err := ctx.Err(); err != nil {
		return value, driver.NoEffect(err)
	}
	return Call(ctx, p, f, late)
}

// Call is [Do] for an f that must be called even if ctx has ended before, because it also ends what its caller began.
func Call[T any](
	ctx context.Context, p *Pool, f func(context.Context) (T, error), late func(T, error),
) (value T, err error) {
	c := &call[T]{f: f, late: late, ctx: ctx, worker: p.get()}
	w := c.worker
	w.tasks <- c.run
	select {
	case <-w.done:
	case <-ctx.Done():
		p.awaitGrace(w)
		if c.settled.CompareAndSwap(false, true) {
			close(w.tasks) // the goroutine ends when f returns
			return value, driver.Spent(ctx.Err())
		}
		<-w.done
	}
	p.put(w)
	return c.value, c.err
}

// call is a call that runs in a worker. It is one piece of memory, as calls are frequent.
type call[T any] struct {
	ctx     context.Context
	f       func(context.Context) (T, error)
	late    func(T, error)
	worker  *worker
	settled atomic.Bool // f has returned, or the caller has left
	value   T
	err     error
}

// run runs in the worker.
func (c *call[T]) run() {
	value, err := c.f(c.ctx)
	if c.settled.CompareAndSwap(false, true) {
		c.value, c.err = value, err
		c.worker.done <- struct{}{}
	} else if c.late != nil {
		c.late(value, err)
	}
}

// awaitGrace returns when the call of w has returned, at the latest after the grace time.
func (p *Pool) awaitGrace(w *worker) {
	if p == nil || p.Grace == 0 {
		return
	}
	limit := time.NewTimer(p.Grace)
	defer limit.Stop()
	select {
	case <-w.done:
		w.done <- struct{}{} // for the caller
	case <-limit.C:
	}
}

// Run is [Do] for a call that returns nothing but an error.
func Run(ctx context.Context, p *Pool, f func(context.Context) error) error {
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }, nil)
	return err
}
