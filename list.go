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
	if q.Limit < 0 {
		return nil, invalid("limit", q.Limit, "0 (for 1000) or more")
	}
	if q.Kind > KindLatch {
		return nil, invalid("kind", q.Kind, "KindLock, KindSemaphore, KindLatch, or 0 for all")
	}
	return clientRequest(ctx, c, "list", func(ctx context.Context) ([]Status, error) { return c.engine.List(ctx, q) })
}

// Inspect tells all about one name: an entry for each kind in which somebody holds it or waits for
// it, with the queue, and none if it is free. Errors are those of List.
func (c *Client) Inspect(ctx context.Context, name string) ([]Status, error) {
	if c.err == nil && !validText(name) {
		return nil, invalid("name", name, allowedText)
	}
	return c.List(ctx, Query{Name: name, Queue: true})
}

// ForceRelease takes a lock away from the holder with that token, whoever it is: for operators, after
// a look with Inspect. The holder finds out with its next renewal, a third of its ttl later at
// most, and may write until then: only the token protects the resource from it. It returns ErrLost
// if nobody holds the name with that token (any more), and otherwise the errors of List or ErrUnsupported.
func (c *Client) ForceRelease(ctx context.Context, kind Kind, name string, token uint64) error {
	if c.err != nil {
		return c.err
	}
	if !validText(name) {
		return invalid("name", name, allowedText)
	}
	if kind != KindLock && kind != KindSemaphore {
		return invalid("kind", kind, "KindLock or KindSemaphore: nothing else has holders")
	}
	f, ok := c.engine.(driver.Forcer)
	if !ok || !c.abilities.Force {
		return &Error{Op: "force release", Kind: kind, Name: name, Err: ErrUnsupported}
	}
	_, err := clientRequest(ctx, c, "force release", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f.ForceRelease(ctx, driver.Key{Kind: kind, Name: name}, token)
	})
	if e, ok := err.(*Error); ok {
		e.Kind, e.Name = kind, name
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
