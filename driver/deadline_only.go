package driver

import "context"

// DeadlineOnly returns ctx with a mark for engines: it ends at its deadline and never before. With such a context, an
// engine whose client observes deadlines, but cannot be interrupted, needs no extra goroutine for its calls.
func DeadlineOnly(ctx context.Context) context.Context { return deadlineOnly{ctx} }

// IsDeadlineOnly reports whether ctx has that mark, or never ends. A context that is derived from a marked one may end
// earlier, and has no mark.
func IsDeadlineOnly(ctx context.Context) bool {
	if ctx.Done() == nil {
		return true
	}
	done, marked := ctx.Value(deadlineOnlyKey{}).(<-chan struct{})
	return marked && done == ctx.Done()
}

type deadlineOnlyKey struct{}

type deadlineOnly struct{ context.Context }

// Value implements context.Context. The mark is the channel, by which a derived context differs.
func (c deadlineOnly) Value(key any) any {
	if key == (deadlineOnlyKey{}) {
		return c.Done()
	}
	return c.Context.Value(key)
}
