// Package timelimit limits how long one request to an engine takes, and tells afterwards whether the limit or the
// caller has ended it.
package timelimit

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrNoAnswer is the cause of the error of a request that the engine did not answer in time.
var ErrNoAnswer = errors.New("no answer in time")

// Requests limits the requests of one client. It is safe for concurrent use.
type Requests struct {
	// Timeout is the limit of most requests. It must not change after the first of them.
	Timeout time.Duration

	cancellable   sharedContext // for requests of callers whose context can end
	uncancellable sharedContext // for all other requests
}

// TimeFor returns how long a request may take whose answer is useless after d.
func (r *Requests) TimeFor(d time.Duration) time.Duration { return min(r.Timeout, d) }

// Send runs f, one request to the engine, with a context that ends with ctx or after limit (0: no limit). The engine
// returns then.
func Send[T any](
	ctx context.Context, r *Requests, limit time.Duration, f func(context.Context) (T, error),
) (T, error) {
	inner, end := r.Context(ctx, limit)
	defer end()
	value, err := f(inner)
	return value, CauseOf(ctx, err)
}

// Context returns the context of a request that the caller's goroutine sends, and what ends it.
func (r *Requests) Context(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, doNothing
	}
	if limit == r.Timeout {
		s := &r.cancellable
		if ctx.Done() == nil {
			s = &r.uncancellable
		}
		switch shared := s.get(ctx, limit); {
		case shared == nil:
		case ctx == context.Background():
			return shared, doNothing
		default:
			return contextWithValues{shared, ctx}, doNothing
		}
	}
	inner, end := context.WithTimeout(ctx, limit)
	if ctx.Done() == nil {
		inner = driver.DeadlineOnly(inner)
	}
	return inner, end
}

func doNothing() {}

// CauseOf replaces an error that only says that the context of a request has ended by the cause. ctx is the caller's
// context: its deadline must not be confused with the limit of the request.
func CauseOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := ErrNoAnswer
	switch endErr := ErrAtDeadline(ctx); {
	case endErr != nil && (errors.Is(err, endErr) || errors.Is(err, context.Canceled)): // Canceled: a shared context
		cause = context.Cause(ctx)
	case endErr != nil || !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if driver.HadNoEffect(err) {
		cause = driver.NoEffect(cause)
	}
	if driver.IsSpent(err) {
		cause = driver.Spent(cause)
	}
	if driver.IsKnownHeld(err) {
		cause = driver.KnownHeld(cause)
	}
	return cause
}

// ErrAtDeadline returns ctx.Err. It first waits if the deadline of ctx has just passed: a request with the same
// deadline may end a moment before ctx does.
func ErrAtDeadline(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		late := time.NewTimer(maxTimerDelay)
		defer late.Stop()
		select {
		case <-ctx.Done():
		case <-late.C: // ctx does not end at its deadline
		}
	}
	return ctx.Err()
}

// maxTimerDelay is how long after its deadline a context may end.
const maxTimerDelay = 100 * time.Millisecond
