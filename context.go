package leasehold

import "context"

// leaseContext is the context of a lease. It refers to the lease, so that a caller who keeps only the context does not
// count as having dropped the lease.
type leaseContext struct {
	context.Context
	lease *Lease
	outer *leaseContext // the context of another lease that this one was derived from, or nil
}

// innermostKey is the key of the innermost leaseContext that a context is derived from.
type innermostKey struct{}

// newLeaseContext returns the context of l. The caller cancels it when the lease ends.
//
// Right below another leaseContext, it derives from what that one wraps, for two reasons. The hold keeps the cancel
// function, and so what this context derives from: it must not keep the outer lease, which may be dropped. And only the
// innermost context checks the deadlines, of all leases: LockAll of many names would check each for each of the others.
func newLeaseContext(l *Lease) (*leaseContext, context.CancelCauseFunc) {
	parent := l.parent
	if direct, ok := parent.(*leaseContext); ok {
		parent = direct.Context
	}
	ctx, cancel := context.WithCancelCause(parent)
	outer, _ := l.parent.Value(innermostKey{}).(*leaseContext)
	return &leaseContext{ctx, l, outer}, cancel
}

// Done first checks the deadline: a process that was stopped past its deadline finds its context done at once, even
// before its timers have run.
func (c *leaseContext) Done() <-chan struct{} {
	c.endIfOver()
	return c.Context.Done()
}

// Err first checks the deadline, as Done does.
func (c *leaseContext) Err() error {
	c.endIfOver()
	return c.Context.Err()
}

// endIfOver ends the context if its lease has ended, or a lease that the context was derived from.
func (c *leaseContext) endIfOver() {
	for ; c != nil; c = c.outer {
		_ = c.lease.Err() // cancels the context
	}
}

// Value returns the lease if key is a lock of the same client and name. That is how re-entry finds it.
func (c *leaseContext) Value(key any) any {
	switch l := key.(type) {
	case innermostKey:
		return c
	case *lock:
		for o := c; o != nil; o = o.outer {
			if held := o.lease.hold.lock; l.client == held.client && l.key == held.key {
				return o.lease
			}
		}
	}
	return c.Context.Value(key)
}
