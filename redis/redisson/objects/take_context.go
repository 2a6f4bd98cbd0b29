package objects

import "context"

// takeContext ends with another context until it is let go. The context of a lease is derived from that of its take: a
// limit of the take must not end it once the lock is held.
type takeContext struct {
	context.Context
	limits context.Context
}

// newTakeContext returns such a context. letGo reports whether it has not ended, and then will not.
func newTakeContext(limits context.Context) (_ context.Context, letGo func() bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(limits))
	stop := context.AfterFunc(limits, func() { cancel(context.Cause(limits)) })
	return takeContext{ctx, limits}, stop
}

// Err implements [context.Context]: a deadline has passed, or there was a cancellation.
func (c takeContext) Err() error {
	if c.Context.Err() == nil {
		return nil
	}
	return c.limits.Err()
}
