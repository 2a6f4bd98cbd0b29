package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// The parts of a listing. The owner, which is secret, never appears in it.
type (
	// Query says what to list.
	Query = driver.Query
	// Status is what is known of one name.
	Status = driver.Status
	// Holder is one holder of a name.
	Holder = driver.Holder
	// Waiter is one waiter for a name.
	Waiter = driver.Waiter
	// LatchState is the state of a latch.
	LatchState = driver.LatchState
)

// List returns the names that anybody holds or waits for, ordered by kind and then by name. It returns at most
// Query.Limit entries (1000 by default): for more, set Query.After to the Key of the last one. It returns
// ErrUnavailable, ErrInvalid, ErrClosed or an error of ctx.
func (c *Client) List(ctx context.Context, q Query) ([]Status, error) {
	if c.err != nil {
		return nil, c.err
	}
	if err := c.checkQuery(q); err != nil {
		return nil, err
	}
	return clientRequest(ctx, c, "list", func(ctx context.Context) ([]Status, error) { return c.engine.List(ctx, q) })
}

func (c *Client) checkQuery(q Query) error {
	switch {
	case q.Limit < 0:
		return newValueError("limit", q.Limit, "0 (for 1000) or more")
	case q.Kind > KindLatch:
		return newValueError("kind", q.Kind, "KindLock, KindSemaphore, KindLatch, or 0 for all")
	}
	return nil
}

// Inspect returns everything about one name, including the queue: one entry for each kind in which somebody holds it or
// waits for it, and none if it is free. Errors are those of List.
func (c *Client) Inspect(ctx context.Context, name string) ([]Status, error) {
	if c.err == nil && !validText(name) {
		return nil, newValueError("name", name, allowedText)
	}
	return c.List(ctx, Query{Name: name, Queue: true})
}

// withKey adds the kind and the name to an *Error.
func withKey(err error, k driver.Key) error {
	if e, ok := err.(*Error); ok {
		e.Kind, e.Name = k.Kind, k.Name
	}
	return err
}

// clientRequest sends a request that is not about a lease.
func clientRequest[T any](ctx context.Context, c *Client, op string, f func(context.Context) (T, error)) (T, error) {
	var none T
	if c.lifetime.Err() != nil {
		return none, &Error{Op: op, Err: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return none, &Error{Op: op, Err: err, Cause: context.Cause(ctx)}
	}
	v, err := sendRequest(ctx, c, c.requestTimeout, f, discard)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil && !driver.IsNo(err):
		return none, &Error{Op: op, Err: ctx.Err(), Cause: context.Cause(ctx)}
	}
	sentinel, cause := fromEngine(err)
	return none, &Error{Op: op, Err: sentinel, Cause: cause}
}
