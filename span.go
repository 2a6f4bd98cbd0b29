package leasehold

import (
	"context"
	"sync"
	"time"
)

// span is the context of requests that are ended by the same channel and have the same limit. Those that begin at about the
// same moment share one: a timer for each would cost more than all else that is done here for a request.
type span struct {
	mu   sync.Mutex
	done <-chan struct{} // that of the requests seen last; nil if nothing but the limit ends them
	ctx  context.Context // nil: only one request has been seen
	over time.Time       // from when on the next request gets a new one
}

// context returns a context that ends with parent or when limit has passed, or up to a hundredth of it earlier. It returns nil if
// the request before was ended by another channel: what nobody shares would only be left lying about.
func (s *span) context(parent context.Context, limit time.Duration) context.Context {
	done, now := parent.Done(), time.Now() // the context of a lease looks whether that has ended, and tells whom it concerns: not under a mutex
	s.mu.Lock()
	known, ctx := done == s.done, s.ctx
	if !known {
		s.done, s.ctx = done, nil
	} else if !now.Before(s.over) {
		ctx = nil
	}
	s.mu.Unlock()
	switch {
	case !known:
		return nil
	case ctx != nil:
		return ctx
	}
	ctx = begin(parent, now.Add(limit))
	s.mu.Lock()
	defer s.mu.Unlock()
	if done == s.done {
		s.ctx, s.over = ctx, now.Add(limit/100)
	}
	return ctx
}

// begin returns a context that ends with parent, or at the moment end. It has no values.
func begin(parent context.Context, end time.Time) context.Context {
	if before, ok := parent.Deadline(); ok && before.Before(end) {
		end = before
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	stop := context.AfterFunc(parent, cancel)
	context.AfterFunc(ctx, func() { stop() })
	return ctx
}

// valued is a context that ends with one and has the values of another one.
type valued struct {
	context.Context
	values context.Context
}

// Value implements context.Context. What has begun the context has no values but those by which package context knows its own.
func (v valued) Value(key any) any {
	if own := v.Context.Value(key); own != nil {
		return own
	}
	return v.values.Value(key)
}

// within returns the context of a request that its caller waits for, and what ends it.
func (c *Client) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, nothing
	}
	if limit == c.requestTimeout { // as most have
		s := &c.ending
		if ctx.Done() == nil {
			s = &c.endless
		}
		switch shared := s.context(ctx, limit); {
		case shared == nil:
		case ctx == context.Background():
			return shared, nothing
		default:
			return valued{shared, ctx}, nothing
		}
	}
	return context.WithTimeout(ctx, limit)
}
