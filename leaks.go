package leasehold

import (
	"context"
	"iter"

	"github.com/leasehold-go/leasehold/driver"
)

type (
	// Leak is something that was left behind on an engine and does not go away by itself.
	Leak = driver.Leak
	// LeakSort is a sort of leak.
	LeakSort = driver.LeakSort
)

// The sorts of leaks.
const (
	EndlessLease = driver.EndlessLease // a lease without an end, given by another program
	EndlessToken = driver.EndlessToken // a token that is kept for too long
	DeadWaiters  = driver.DeadWaiters  // places in a queue whose waiters are gone
	Remains      = driver.Remains      // what was stored beside a lease that has ended
)

// Leaks tells what was left behind on the engine: leases without an end, places in queues whose waiters are gone, and the like. Of the query, Kind, Name,
// Prefix and Progress count. It changes nothing, and ends with the first error: ErrUnsupported on an engine on which nothing can be left
// behind, and otherwise those of List.
func (c *Client) Leaks(ctx context.Context, q Query) iter.Seq2[Leak, error] {
	return func(yield func(Leak, error) bool) {
		s, err := c.sweeper("look for leaks")
		if err == nil {
			err = c.checkQuery(q)
		}
		if err != nil {
			yield(Leak{}, err)
			return
		}
		walk(ctx, c, "look for leaks", yield, func(ctx context.Context, visit func([]Leak) bool) error {
			return s.Leaks(ctx, q, func(l Leak) bool { return visit([]Leak{l}) })
		})
	}
}

// Sweep removes a leak that Leaks has told of, and lets the next waiter in. It returns ErrLost, and has changed nothing, if the leak is not there any
// more or is another one by now, ErrUnsupported, and otherwise the errors of List.
func (c *Client) Sweep(ctx context.Context, l Leak) error {
	s, err := c.sweeper("sweep")
	if err != nil {
		return about(err, l.Key)
	}
	_, err = clientRequest(ctx, c, "sweep", func(ctx context.Context) (struct{}, error) { return struct{}{}, s.Sweep(ctx, l) })
	return about(err, l.Key)
}

func (c *Client) sweeper(op string) (driver.Sweeper, error) {
	if c.err != nil {
		return nil, c.err
	}
	s, ok := c.engine.(driver.Sweeper)
	if !ok || !c.abilities.Leaks {
		return nil, &Error{Op: op, Err: ErrUnsupported}
	}
	return s, nil
}
