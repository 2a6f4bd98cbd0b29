package timelimit

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// sharedContext is the context of requests that are ended by the same channel and have the same limit. Requests that
// begin at about the same moment share one: a timer for each request would cost more than the rest of the library's
// work for it.
type sharedContext struct {
	mu      sync.Mutex
	done    <-chan struct{} // of the latest request; nil if only the limit ends it
	ctx     context.Context // nil if only one request was seen
	renewAt time.Time       // from then on a new context is made
}

// get returns a context that ends with parent or after limit, or up to a hundredth of limit earlier. It returns nil if
// the previous request was ended by another channel: a context that nobody shares would only waste memory.
func (s *sharedContext) get(parent context.Context, limit time.Duration) context.Context {
	done, now := parent.Done(), time.Now() // outside mu: the context of a lease may end its lease and call observers
	s.mu.Lock()
	known, ctx := done == s.done, s.ctx
	if !known {
		s.done, s.ctx = done, nil
	} else if !now.Before(s.renewAt) {
		ctx = nil
	}
	s.mu.Unlock()
	switch {
	case !known:
		return nil
	case ctx != nil:
		return ctx
	}
	ctx = newBoundedContext(parent, now.Add(limit))
	s.mu.Lock()
	defer s.mu.Unlock()
	if done == s.done {
		s.ctx, s.renewAt = ctx, now.Add(limit/100)
	}
	return ctx
}

// newBoundedContext returns a context that ends with parent or at end. It has no values.
func newBoundedContext(parent context.Context, end time.Time) context.Context {
	if parent.Done() == nil {
		ctx, cancel := context.WithDeadline(context.Background(), end)
		context.AfterFunc(ctx, cancel)
		return driver.DeadlineOnly(ctx)
	}
	if before, ok := parent.Deadline(); ok && before.Before(end) {
		end = before
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	stop := context.AfterFunc(parent, cancel)
	context.AfterFunc(ctx, func() { stop() })
	return ctx
}

// WithValuesOf returns a context that ends with ctx, which has no values, and has the values of another context.
func WithValuesOf(ctx, values context.Context) context.Context { return contextWithValues{ctx, values} }

// contextWithValues is a context that ends with one context and has the values of another.
type contextWithValues struct {
	context.Context
	values context.Context
}

// Value implements context.Context. The embedded context has no values but the private ones of package context.
func (v contextWithValues) Value(key any) any {
	if own := v.Context.Value(key); own != nil {
		return own
	}
	return v.values.Value(key)
}
