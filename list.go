package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// What a listing is made of. The secret by which an owner is known never appears in it.
type (
	// Query says what to list.
	Query = driver.Query
	// Status is what is known of one name.
	Status = driver.Status
	// Holder is one who holds.
	Holder = driver.Holder
	// Waiter is one who waits.
	Waiter = driver.Waiter
	// LatchState is what a latch stands at.
	LatchState = driver.LatchState
)

// List tells what is held and waited for, by anybody, ordered by kind and then by name. At most
// Query.Limit entries come at once (1000 by default): set Query.After to the Key of the last one for more. It
// returns ErrUnavailable, ErrInvalid, ErrClosed or an error of ctx.
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
		return invalid("limit", q.Limit, "0 (for 1000) or more")
	case q.Kind > KindLatch:
		return invalid("kind", q.Kind, "KindLock, KindSemaphore, KindLatch, or 0 for all")
	}
	return nil
}

// Inspect tells all about one name: an entry for each kind in which somebody holds it or waits for
// it, with the queue, and none if it is free. Errors are those of List.
func (c *Client) Inspect(ctx context.Context, name string) ([]Status, error) {
	if c.err == nil && !validText(name) {
		return nil, invalid("name", name, allowedText)
	}
	return c.List(ctx, Query{Name: name, Queue: true})
}

// about makes an error say what it is about.
func about(err error, k driver.Key) error {
	if e, ok := err.(*Error); ok {
		e.Kind, e.Name = k.Kind, k.Name
	}
	return err
}

// clientRequest sends a request that has nothing to do with a lease.
func clientRequest[T any](ctx context.Context, c *Client, op string, f func(context.Context) (T, error)) (T, error) {
	var none T
	if c.life.Err() != nil {
		return none, &Error{Op: op, Err: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return none, &Error{Op: op, Err: err, Cause: context.Cause(ctx)}
	}
	v, err := request(ctx, c, c.requestTimeout, f, ignore)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil && !driver.IsNo(err):
		return none, &Error{Op: op, Err: ctx.Err(), Cause: context.Cause(ctx)}
	}
	sentinel, cause := fromEngine(err)
	return none, &Error{Op: op, Err: sentinel, Cause: cause}
}
