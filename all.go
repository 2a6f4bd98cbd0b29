package leasehold

import (
	"cmp"
	"context"
	"iter"

	"github.com/leasehold-go/leasehold/driver"
)

// All yields everything that the query matches, in the order of List, whatever its Limit. It asks the engine for more
// as the caller goes on, and ends after the first error, which is one of those of List. Names that come or go meanwhile
// may be missed or reported; a name that exists all the time is reported once.
//
// On engines that search for names All searches once, whereas List searches once a page. Query.Progress is then told
// how the search goes on.
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
			c.listPages(ctx, q, yield)
			return
		}
		streamFrom(ctx, c, "list", yield, func(ctx context.Context, visit func([]Status) bool) error {
			return w.Walk(ctx, q, visit)
		})
	}
}

// listPages yields a listing page by page.
func (c *Client) listPages(ctx context.Context, q Query, yield func(Status, error) bool) {
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

// streamFrom yields what find visits, until the client is closed. The engine limits the time of its own requests.
func streamFrom[T any](ctx context.Context, c *Client, op string, yield func(T, error) bool,
	find func(ctx context.Context, visit func([]T) bool) error,
) {
	inner, end := c.cancelOnClose(ctx)
	defer end()
	stopped := false
	err := cmp.Or(c.lifetime.Err(), ctx.Err())
	if err == nil {
		err = find(inner, func(items []T) bool {
			for _, item := range items {
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
	case c.lifetime.Err() != nil:
		failed.Err = ErrClosed
	case ctx.Err() != nil:
		failed.Err, failed.Cause = ctx.Err(), context.Cause(ctx)
	default:
		failed.Err, failed.Cause = fromEngine(causeOf(ctx, err))
	}
	var none T
	yield(none, failed)
}
