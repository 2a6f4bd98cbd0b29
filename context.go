package leasehold

import "context"

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

// Value finds the lease for whoever asks for the same name: the key is the lock that is looked for.
func (c *leaseContext) Value(key any) any {
	if l, ok := key.(*lock); ok {
		if mine := c.lease.hold.lock; l.client == mine.client && l.key == mine.key {
			return c.lease
		}
	}
	return c.Context.Value(key)
}
