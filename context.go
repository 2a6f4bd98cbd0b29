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
func newLeaseContext(l *Lease) (*leaseContext, context.CancelCauseFunc) {
	parent := l.parent
	if direct, ok := parent.(*leaseContext); ok {
		parent = withoutCheck{direct}
	}
	ctx, cancel := context.WithCancelCause(parent)
	outer, _ := l.parent.Value(innermostKey{}).(*leaseContext)
	return &leaseContext{ctx, l, outer}, cancel
}

// withoutCheck is a leaseContext that does not compare the clock with the deadline. Contexts that are derived from it
// do so for all leases that they come from. Otherwise LockAll of many names would check each lease for each of the
// others.
type withoutCheck struct{ *leaseContext }

func (c withoutCheck) Done() <-chan struct{} { return c.Context.Done() }
func (c withoutCheck) Err() error            { return c.Context.Err() }

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
		if mine := c.lease.hold.lock; l.client == mine.client && l.key == mine.key {
			return c.lease
		}
	}
	return c.Context.Value(key)
}
