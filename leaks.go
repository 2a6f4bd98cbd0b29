package leasehold

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
// the first error: ErrUnsupported on an engine on which nothing can be left behind, and otherwise those of List.
func (c *Client) Leaks(ctx context.Context, q Query) iter.Seq2[Leak, error] {
	return func(yield func(Leak, error) bool) {
		s, err := c.asSweeper("look for leaks")
		if err == nil {
			err = c.checkQuery(q)
		}
		if err != nil {
			yield(Leak{}, err)
			return
		}
		streamFrom(ctx, c, "look for leaks", yield, func(ctx context.Context, visit func([]Leak) bool) error {
			return s.Leaks(ctx, q, func(l Leak) bool { return visit([]Leak{l}) })
		})
	}
}

// Sweep removes a leak that Leaks has yielded, and lets the next waiter in. It returns ErrLost, and has changed
// nothing, if the leak no longer exists or is another one by now. It returns ErrUnsupported as Leaks does, and
// otherwise the errors of List.
func (c *Client) Sweep(ctx context.Context, l Leak) error {
	s, err := c.asSweeper("sweep")
	if err != nil {
		return withKey(err, l.Key)
	}
	_, err = clientRequest(ctx, c, "sweep", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.Sweep(ctx, l)
	})
	return withKey(err, l.Key)
}

func (c *Client) asSweeper(op string) (driver.Sweeper, error) {
	if c.err != nil {
		return nil, c.err
	}
	s, ok := c.engine.(driver.Sweeper)
	if !ok || !c.abilities.Leaks {
		return nil, &Error{Op: op, Err: ErrUnsupported}
	}
	return s, nil
}
