package leasehold

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// errNoAnswer is the cause of the error of a request that the engine did not answer in time.
var errNoAnswer = errors.New("no answer in time")

// sendRequest runs f, one request to the engine, with a context that ends with ctx or after limit (0: no limit). The
// engine returns then.
func sendRequest[T any](
	ctx context.Context, c *Client, limit time.Duration, f func(context.Context) (T, error),
) (T, error) {
	inner, end := c.withLimit(ctx, limit)
	defer end()
	value, err := f(inner)
	return value, causeOf(ctx, err)
}

// causeOf replaces an error that only says that the context of a request has ended by the cause. ctx is the caller's
// context: its deadline must not be confused with the limit of the request.
func causeOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := errNoAnswer
	switch endErr := errAtDeadline(ctx); {
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
	return cause
}

// errAtDeadline returns ctx.Err. It first waits if the deadline of ctx has just passed: a request with the same
// deadline may end a moment before ctx does.
func errAtDeadline(ctx context.Context) error {
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

// requestLimit returns how long a request may take that is of use only within d.
func (c *Client) requestLimit(d time.Duration) time.Duration { return min(c.requestTimeout, d) }

// cancelOnClose returns a context that also ends when the client is closed, and a function that releases its resources.
func (c *Client) cancelOnClose(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.lifetime, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
