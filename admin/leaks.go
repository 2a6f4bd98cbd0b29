package admin

import (
	"context"
	"iter"

	"github.com/leasehold-go/leasehold"
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
		a := call{op: "look for leaks"}
		s, err := c.sweeper(a)
		if err == nil {
			err = c.checkQuery(q)
		}
		if err != nil {
			yield(Leak{}, err)
			return
		}
		stream(ctx, a, yield, func(ctx context.Context, visit func(Leak) bool) error { return s.Leaks(ctx, q, visit) })
	}
}

// Sweep removes a leak that Leaks has yielded, and lets the next waiter in. It returns leasehold.ErrLost, and has
// changed nothing, if the leak is gone or has changed, and leasehold.ErrUnsupported as Leaks does.
func (c *Client) Sweep(ctx context.Context, l Leak) error {
	a := call{"sweep", l.Key}
	s, err := c.sweeper(a)
	if err != nil {
		return err
	}
	return sendOnly(ctx, c, a, func(ctx context.Context) error { return s.Sweep(ctx, l) })
}

// sweeper returns the engine as one on which something can be left behind.
func (c *Client) sweeper(a call) (driver.Sweeper, error) {
	if c.err != nil {
		return nil, c.err
	}
	s, ok := c.engine.(driver.Sweeper)
	if !ok || !c.abilities.Leaks {
		return nil, a.fail(leasehold.ErrUnsupported, nil)
	}
	return s, nil
}
