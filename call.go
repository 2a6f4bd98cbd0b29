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
// itself; if it ends after all, late hears of its outcome. What it does until then is not known, so its
// owner is spent.
func request[T any](ctx context.Context, c *Client, limit time.Duration, f func(context.Context) (T, error), late func(T, error)) (T, error) {
	if c.inPlace(ctx, limit) {
		inner, end := c.within(ctx, limit)
		defer end()
		value, err := f(inner)
		return value, why(ctx, err)
	}
	var (
		value   T
		failed  error
		settled atomic.Bool
	)
	inner, end := ctx, func(error) {}
	w := c.crew.hire()
	var tooLate <-chan time.Time
	if limit > 0 {
		limited := &callContext{Context: ctx, deadline: time.Now().Add(limit)}
		inner, end = limited, limited.end
		w.limit.Reset(limit)
		tooLate = w.limit.C
	}
	w.tasks <- func() {
		v, err := f(inner)
		if !settled.CompareAndSwap(false, true) {
			late(v, err)
			return
		}
		value, failed = v, err
		w.done <- struct{}{}
	}
	var over, cause error
	select {
	case <-w.done:
	case <-ctx.Done():
		over, cause = ctx.Err(), context.Cause(ctx)
	case <-tooLate:
		over, cause = context.DeadlineExceeded, errNoAnswer
	}
	if limit > 0 {
		w.limit.Stop()
	}
	if over != nil {
		end(over)
		if settled.CompareAndSwap(false, true) {
			close(w.tasks) // it ends when the engine lets it go
			var none T
			return none, driver.Spent(cause)
		}
		<-w.done
	}
	c.crew.letGo(w)
	return value, why(ctx, failed)
}

// inPlace reports whether the engine lets a caller go by itself, so that the caller can make the request.
func (c *Client) inPlace(ctx context.Context, limit time.Duration) bool {
	return c.abilities.Prompt || c.abilities.Bounded && ctx.Done() == nil && limit > 0
}

// why puts the cause in place of an error that only says that the context of a request has ended: the limit of a request is
// not to be taken for a deadline of the caller, whose context is ctx.
func why(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := errNoAnswer
	switch ended := endOf(ctx); {
	case ended != nil && (errors.Is(err, ended) || errors.Is(err, context.Canceled)): // that of a span may be the other one
		cause = context.Cause(ctx)
	case ended != nil || !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if driver.HadNoEffect(err) {
		cause = driver.NoEffect(cause)
	}
	if driver.IsSpent(err) {
		cause = driver.Spent(cause)
	}
	return cause
}

// endOf is ctx.Err of a context whose deadline may just have passed: a request that has the same deadline may end a moment before the context
// is told of it.
func endOf(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		late := time.NewTimer(mostLate)
		defer late.Stop()
		select {
		case <-ctx.Done():
		case <-late.C: // it is no context that keeps its word
		}
	}
	return ctx.Err()
}

// mostLate is how late a context may learn of its deadline.
const mostLate = 100 * time.Millisecond

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
func ignore[T any](T, error) {}
