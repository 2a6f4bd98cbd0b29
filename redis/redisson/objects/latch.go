package objects

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// CountDownLatch is an RCountDownLatch of Redisson: a count that goes down to zero, on which callers wait. Nobody owns
// it, and it has no lease. As in Redisson, a latch that is not set counts as one at zero: set it before others wait.
//
// It lives until it is at zero, also if no program in Go uses it for long. With leasehold.TTL of less than 24 h, it is
// forgotten when no program in Go has set it or counted it down for so long. It is safe for concurrent use.
//
// Errors are those of [leasehold.Latch].
type CountDownLatch struct {
	client *Client
	name   string
	inner  *leasehold.Latch
}

// CountDownLatch returns a latch, from getCountDownLatch in Redisson. Of the options, leasehold.TTL and
// leasehold.WaitLimit apply.
func (c *Client) CountDownLatch(name string, opts ...leasehold.Option) *CountDownLatch {
	return &CountDownLatch{c, name, c.plain.client.Latch(name, opts...)}
}

// Name returns the name of the latch.
func (l *CountDownLatch) Name() string { return l.name }

// TrySetCount sets the latch to n, and reports whether it did: a latch above zero does not change.
func (l *CountDownLatch) TrySetCount(ctx context.Context, n int) (bool, error) {
	return l.inner.TrySet(ctx, n)
}

// CountDown counts down by one, and returns the rest. A latch at zero stays there. If the answer is lost, it asks
// again, and counts once.
func (l *CountDownLatch) CountDown(ctx context.Context) (left int, err error) {
	left, err = l.inner.CountDown(ctx)
	return left, unlessNotSet(err)
}

// Count returns the count: getCount in Redisson.
func (l *CountDownLatch) Count(ctx context.Context) (int, error) {
	n, err := l.inner.Count(ctx)
	return n, unlessNotSet(err)
}

// Await waits until the count is zero, or until ctx ends.
func (l *CountDownLatch) Await(ctx context.Context) error { return unlessNotSet(l.inner.Wait(ctx)) }

// unlessNotSet drops the error that a latch is not set.
func unlessNotSet(err error) error {
	if errors.Is(err, leasehold.ErrNotSet) {
		return nil
	}
	return err
}

// Delete deletes the latch, and reports whether it was above zero. Those that wait go on, as if it had come down to
// zero.
func (l *CountDownLatch) Delete(ctx context.Context) (existed bool, _ error) {
	err := l.client.ask(ctx, "delete", driver.Latch, l.name, func(ctx context.Context) (err error) {
		existed, err = l.client.plain.DeleteLatch(ctx, l.name)
		return err
	})
	return existed, err
}
