package leasehold

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// started is a take that the engine sees to while its caller waits for the answer, or goes away.
type started struct {
	sending
	settled  atomic.Bool // answered, or given up
	answered chan struct{}
	grant    driver.Grant
	err      error
	done     func(driver.Grant, error)
}

// newStarted returns one that is new, or that has been answered.
func (c *Client) newStarted() *started {
	if s, ok := c.started.Get().(*started); ok {
		return s
	}
	s := &started{answered: make(chan struct{}, 1)}
	s.done = func(g driver.Grant, err error) {
		if !s.settled.CompareAndSwap(false, true) {
			s.late(g, err)
			return
		}
		s.grant, s.err = g, err
		s.answered <- struct{}{}
	}
	return s
}

// startTake takes as request does, without a goroutine that waits for the engine.
func (h *hold) startTake(ctx context.Context, r driver.Request, limit time.Duration) (driver.Grant, error) {
	c := h.lock.client
	s := c.newStarted()
	s.sending = h.sends()
	inner, end := c.within(ctx, limit)
	defer end()
	c.starter.StartTake(inner, r, s.done)
	select {
	case <-s.answered:
	case <-inner.Done():
		if s.settled.CompareAndSwap(false, true) {
			// The answer may come at any time: s is not to be used again, nor is the owner.
			return driver.Grant{}, driver.Spent(why(ctx, inner.Err()))
		}
		<-s.answered
	}
	g, err := s.grant, s.err
	s.sending, s.grant, s.err = sending{}, driver.Grant{}, nil
	s.settled.Store(false)
	c.started.Put(s)
	return g, why(ctx, err)
}
