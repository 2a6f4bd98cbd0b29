package redis

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// inquiry is a question to a server that is in flight. All callers with the same question wait for it.
type inquiry struct {
	slot          uint16  // of the name whose key leads to the server
	lackedScripts *server // this server was found to lack the scripts
	askedAt       time.Time
	retryAfter    time.Duration // when to ask again
	answered      bool          // guarded by the router's mu; done is closed right after
	done          chan struct{}
	server        *server
	err           error
}

// inquiryKey is what an inquiry is about: a server that is assumed to have some slots, or else a slot.
type inquiryKey struct {
	server *server
	slot   uint16
	marker bool // it reads the marker of the slot there
	moving bool // the slot is moving, and its marker shall say so
	silent bool // the slot may be moving, and a server does not answer; see noteFailure
}

// firstRetryAfter is how long an unanswered inquiry waits until it is repeated on another connection, as the first one
// may be dead. Each further repetition waits twice as long.
const firstRetryAfter = time.Second

// awaitInquiry returns an answered inquiry.
func (rt *router) awaitInquiry(ctx context.Context, n redisKeys, about inquiryKey, lacked *server) (*inquiry, error) {
	for q := (*inquiry)(nil); ; {
		q = rt.joinInquiry(ctx, n, about, lacked, q)
		overdue := time.NewTimer(time.Until(q.askedAt.Add(q.retryAfter)))
		select {
		case <-q.done:
			overdue.Stop()
			return q, nil
		case <-overdue.C:
		case <-ctx.Done():
			overdue.Stop()
			return nil, driver.NoEffect(ctx.Err())
		}
	}
}

// joinInquiry returns the inquiry in flight or begins one. last is the inquiry that the caller waited for until it was
// overdue. If that was answered just now, it is returned: a new one with the first, short retry time could be overdue
// again and again.
func (rt *router) joinInquiry(
	ctx context.Context, n redisKeys, about inquiryKey, lacked *server, last *inquiry,
) *inquiry {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if last != nil && last.answered {
		return last
	}
	before := rt.inquiries[about]
	overdue := before != nil && time.Since(before.askedAt) >= before.retryAfter
	if before != nil && !overdue && (before.lackedScripts == lacked || lacked == nil) {
		return before
	}
	q := &inquiry{
		slot: rt.slotOf(n), lackedScripts: lacked,
		askedAt: time.Now(), retryAfter: firstRetryAfter, done: make(chan struct{}),
	}
	if overdue {
		q.retryAfter = 2 * before.retryAfter
		if lacked == nil {
			q.lackedScripts = before.lackedScripts
		}
	}
	rt.inquiries[about] = q
	go rt.runInquiry(context.WithoutCancel(ctx), q, about, n)
	return q
}

// runInquiry answers an inquiry. It goes on when its callers have gone, as others may have joined.
func (rt *router) runInquiry(ctx context.Context, q *inquiry, about inquiryKey, n redisKeys) {
	switch {
	case about.marker:
		q.err = rt.fetchMarker(ctx, n, about.server)
	case about.moving:
		q.err = rt.closeMovingSlot(ctx, n)
	case about.silent:
		q.err = rt.closeSlotIfGiven(ctx, n)
	default:
		q.server, q.err = rt.identifyServer(ctx, n, q.lackedScripts)
	}
	rt.mu.Lock()
	q.answered = true
	if rt.inquiries[about] == q {
		delete(rt.inquiries, about)
	}
	rt.mu.Unlock()
	close(q.done)
}
