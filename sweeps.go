package leasehold

import (
	"context"
	"log/slog"
	"sync"
)

// sweeps is the clean-up requests of a client: a few are under way at once, and the other holds wait in their order. After a trouble they may be as many
// as the leases that were lost in it, and must not keep anything else from its work.
type sweeps struct {
	mu      sync.Mutex
	under   int
	waiting []*hold
	stopped bool
}

// maxSweeps is how many clean-up requests may be under way at once.
const maxSweeps = 32

// add has h wait if there are as many as may be, and reports otherwise that it may go on at once. ok is false if the client is closed.
func (s *sweeps) add(h *hold) (now, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return false, false
	case s.under < maxSweeps:
		s.under++
		return true, true
	}
	s.waiting = append(s.waiting, h)
	return false, true
}

// next returns the hold whose turn it is when a request has ended, or nil.
func (s *sweeps) next() *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.under--
		s.waiting = nil
		return nil
	}
	h := s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	return h
}

// left ends a request that was not sent.
func (s *sweeps) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
}

// stop returns those that wait. No more are taken.
func (s *sweeps) stop() []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waiting
	s.waiting, s.stopped = nil, true
	return waiting
}

// sweep has the hold released in the background, and reports false if the client is closed. mu is held, phase is
// cleaning.
func (h *hold) sweep() bool {
	c := h.lock.client
	now, ok := c.sweeps.add(h)
	if !now {
		return ok
	}
	started := c.background(func() {
		for next := h; next != nil; next = c.sweeps.next() {
			next.sweepOnce()
		}
	})
	if !started {
		c.sweeps.left()
	}
	return started
}

// sweepOnce sends one release.
func (h *hold) sweepOnce() {
	c := h.lock.client
	h.mu.Lock()
	at := c.renewer.now()
	switch {
	case h.phase != cleaning:
		h.mu.Unlock()
		return
	case at >= h.forget:
		h.become(over)
		h.mu.Unlock()
		c.log.write(slog.LevelWarn, "clean-up given up: the engine did not answer; the lock is free when its ttl has passed", "kind", h.lock.key.Kind.String(), "name", h.lock.key.Name)
		return
	}
	h.failures++
	r := h.toRelease(h.keep())
	h.mu.Unlock()
	_, err := request(c.life, c, c.requestTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.engine.Release(ctx, r)
	}, ignore)
	h.swept(at, err)
}
