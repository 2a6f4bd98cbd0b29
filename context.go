package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// reach is the key under which the context of a lease on a name is found in a context. It is looked up
// through a pointer, and compared by value, so that a look-up allocates nothing.
type reach struct {
	client *Client
	key    driver.Key
}

// leaseContext is the context of a lease. It holds on to the lease, so that a caller who keeps
// only the context does not count as having dropped the lease.
type leaseContext struct {
	context.Context
	lease *Lease
}

// Done looks at the clock first: a process that was stopped past its deadline finds its context done
// at first sight, even before the timers have caught up.
func (c *leaseContext) Done() <-chan struct{} {
	c.lease.hold.check()
	return c.Context.Done()
}

// Err looks at the clock first, as Done does.
func (c *leaseContext) Err() error {
	c.lease.hold.check()
	return c.Context.Err()
}

// Value finds the lease for whoever asks for the same name.
func (c *leaseContext) Value(key any) any {
	if r, ok := key.(*reach); ok && *r == (reach{c.lease.hold.lock.client, c.lease.hold.lock.key}) {
		return c.lease
	}
	return c.Context.Value(key)
}
