package leasehold

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// errNoAnswer is what lies behind a request that the engine did not answer in time.
var errNoAnswer = errors.New("no answer in time")

// request runs f, one request to the engine, and returns no later than ctx ends or
// limit has passed (0: no limit), even if f does not care. A request that is given up goes on by
// itself; if it ends after all, late hears of its error.
func request[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error), late func(error)) (T, error) {
	cancel := context.CancelFunc(func() {})
	if limit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errNoAnswer)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	var settled atomic.Bool
	go func() {
		value, err := f(ctx)
		if settled.CompareAndSwap(false, true) {
			done <- result{value, err}
			return
		}
		late(err)
	}()
	defer cancel()
	select {
	case r := <-done:
		return r.value, why(ctx, r.err)
	case <-ctx.Done():
	}
	if settled.CompareAndSwap(false, true) {
		var none T
		return none, context.Cause(ctx)
	}
	r := <-done
	return r.value, why(ctx, r.err)
}

// why puts the cause in place of an error that only says that ctx has ended: the limit of a request is not to be
// taken for a deadline of the caller.
func why(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	if driver.HadNoEffect(err) {
		return driver.NoEffect(context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// limit is how long a request may take that is of use only within d.
func (c *Client) limit(d time.Duration) time.Duration { return min(c.requestTimeout, d) }

// alive returns ctx such that it also ends when the client is closed, and a function that frees what this takes.
func (c *Client) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// ignore is for requests of which nothing can stay behind.
func ignore(error) {}
