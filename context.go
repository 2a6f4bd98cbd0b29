package leasehold

import "context"

// leaseContext is the context of a lease. It holds on to the lease, so that a caller who keeps
// only the context does not count as having dropped the lease.
type leaseContext struct {
	context.Context
	lease *Lease
	outer *leaseContext // that of another lease, from which it comes; nil if there is none
}

// enclosing is the key under which a context has the innermost leaseContext that it comes from.
type enclosing struct{}

// newLeaseContext returns the context of l, which must be ended with the lease.
func newLeaseContext(l *Lease) (*leaseContext, context.CancelCauseFunc) {
	parent := l.parent
	if direct, ok := parent.(*leaseContext); ok {
		parent = unlooked{direct}
	}
	ctx, cancel := context.WithCancelCause(parent)
	outer, _ := l.parent.Value(enclosing{}).(*leaseContext)
	return &leaseContext{ctx, l, outer}, cancel
}

// unlooked is a leaseContext that does not look at the clock. What is derived from it looks by itself, at all leases that it
// comes from: LockAll of many names would look at each of them for each of the others.
type unlooked struct{ *leaseContext }

func (c unlooked) Done() <-chan struct{} { return c.Context.Done() }
func (c unlooked) Err() error            { return c.Context.Err() }

// Done looks at the clock first: a process that was stopped past its deadline finds its context done
// at first sight, even before the timers have caught up.
func (c *leaseContext) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// Err looks at the clock first, as Done does.
func (c *leaseContext) Err() error {
	c.look()
	return c.Context.Err()
}

// look ends the context if its lease, or one of those that it comes from, is over.
func (c *leaseContext) look() {
	for ; c != nil; c = c.outer {
		c.lease.ended()
	}
}

// Value finds the lease for whoever asks for the same name: the key is the lock that is looked for.
func (c *leaseContext) Value(key any) any {
	switch l := key.(type) {
	case enclosing:
		return c
	case *lock:
		if mine := c.lease.hold.lock; l.client == mine.client && l.key == mine.key {
			return c.lease
		}
	}
	return c.Context.Value(key)
}
