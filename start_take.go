package leasehold

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// pendingTake is a take that the engine runs while its caller waits for the answer, or has given up.
type pendingTake struct {
	sentRequest
	decided  atomic.Bool // answered, or given up
	answered chan struct{}
	grant    driver.Grant
	err      error
	done     func(driver.Grant, error)
}

// getPendingTake returns a new pendingTake, or one that is used again.
func (c *Client) getPendingTake() *pendingTake {
	if s, ok := c.pendingTakes.Get().(*pendingTake); ok {
		return s
	}
	s := &pendingTake{answered: make(chan struct{}, 1)}
	s.done = func(g driver.Grant, err error) {
		if !s.decided.CompareAndSwap(false, true) {
			s.noteLateAnswer(g, err)
			return
		}
		s.grant, s.err = g, err
		s.answered <- struct{}{}
	}
	return s
}

// startTake is like sendRequest, but no goroutine waits for the engine.
func (h *hold) startTake(ctx context.Context, r driver.Request, limit time.Duration) (driver.Grant, error) {
	c := h.lock.client
	s := c.getPendingTake()
	s.sentRequest = h.beginRequest()
	inner, end := c.withLimit(ctx, limit)
	defer end()
	c.starter.StartTake(inner, r, s.done)
	select {
	case <-s.answered:
	case <-inner.Done():
		if s.decided.CompareAndSwap(false, true) {
			// The answer may come at any time: neither s nor the owner may be used again.
			return driver.Grant{}, driver.Spent(causeOf(ctx, inner.Err()))
		}
		<-s.answered
	}
	g, err := s.grant, s.err
	s.sentRequest, s.grant, s.err = sentRequest{}, driver.Grant{}, nil
	s.decided.Store(false)
	c.pendingTakes.Put(s)
	return g, causeOf(ctx, err)
}
