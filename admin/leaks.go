package admin

import (
	"context"
	"iter"

	"github.com/leasehold-go/leasehold/driver"
)

type (
	// Leak is something that was left behind on an engine and does not go away by itself.
	Leak = driver.Leak
	// LeakSort is the sort of a leak.
	LeakSort = driver.LeakSort
)

// The sorts of leaks.
const (
	EndlessLease = driver.EndlessLease // a lease without an end, written by another program
	EndlessToken = driver.EndlessToken // a token that is kept for too long
	DeadWaiters  = driver.DeadWaiters  // places in a queue whose waiters no longer exist
	Remains      = driver.Remains      // data that was stored beside a lease that has ended
)

// Leaks yields what was left behind on the engine: leases without an end, places in queues whose waiters no longer
// exist, and the like. Of the query, only Kind, Name, Prefix and Progress count. Leaks changes nothing. It ends after
// the first error, which is leasehold.ErrUnsupported on an engine on which nothing can be left behind.
func (c *Client) Leaks(ctx context.Context, q Query) iter.Seq2[Leak, error] {
	return func(yield func(Leak, error) bool) {
		if err := c.checkQuery(q); err != nil {
			yield(Leak{}, err)
			return
		}
		stream(ctx, call{op: "look for leaks"}, yield, func(ctx context.Context, visit func(Leak) bool) error {
			return c.operator.Leaks(ctx, q, visit)
		})
	}
}

// Sweep removes a leak that Leaks has yielded, and lets the next waiter in. It returns leasehold.ErrLost, and has
// changed nothing, if the leak is gone or has changed, and leasehold.ErrUnsupported as Leaks does.
func (c *Client) Sweep(ctx context.Context, l Leak) error {
	if c.err != nil {
		return c.err
	}
	return sendOnly(ctx, c, call{"sweep", l.Key}, func(ctx context.Context) error { return c.operator.Sweep(ctx, l) })
}
