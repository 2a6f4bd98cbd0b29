package leasehold

import (
	"cmp"
	"context"
	"iter"

	"github.com/leasehold-go/leasehold/driver"
)

// All tells everything that the query matches, in the order of List, whatever its Limit. It asks the engine for more while the caller goes on, and ends
// with the first error, one of those of List. Names that come or go meanwhile may be missed or told; what is there all the time is told once.
//
// On engines that search for names it searches once, where List searches for each page. Query.Progress is then told how the search goes on.
func (c *Client) All(ctx context.Context, q Query) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		err := c.err
		if err == nil {
			err = c.checkQuery(q)
		}
		if err != nil {
			yield(Status{}, err)
			return
		}
		q := q
		q.Limit = 0
		w, ok := c.engine.(driver.Walker)
		if !ok || !c.abilities.Walk {
			c.page(ctx, q, yield)
			return
		}
		walk(ctx, c, "list", yield, func(ctx context.Context, visit func([]Status) bool) error { return w.Walk(ctx, q, visit) })
	}
}

// page goes through a listing page by page.
func (c *Client) page(ctx context.Context, q Query, yield func(Status, error) bool) {
	for {
		page, err := c.List(ctx, q)
		if err != nil {
			yield(Status{}, err)
			return
		}
		for _, s := range page {
			if !yield(s, nil) {
				return
			}
		}
		if len(page) == 0 {
			return
		}
		q.After = page[len(page)-1].Key
	}
}

// walk passes on what an engine finds piece by piece, until the client is closed at the latest. The engine bounds its requests by itself.
func walk[T any](ctx context.Context, c *Client, op string, yield func(T, error) bool,
	find func(ctx context.Context, visit func([]T) bool) error,
) {
	inner, end := c.alive(ctx)
	defer end()
	stopped := false
	err := cmp.Or(c.life.Err(), ctx.Err())
	if err == nil {
		err = find(inner, func(piece []T) bool {
			for _, item := range piece {
				if stopped = stopped || !yield(item, nil); stopped {
					break
				}
			}
			return !stopped
		})
	}
	if stopped || err == nil {
		return
	}
	failed := &Error{Op: op}
	switch {
	case c.life.Err() != nil:
		failed.Err = ErrClosed
	case ctx.Err() != nil:
		failed.Err, failed.Cause = ctx.Err(), context.Cause(ctx)
	default:
		failed.Err, failed.Cause = fromEngine(why(ctx, err))
	}
	var none T
	yield(none, failed)
}
