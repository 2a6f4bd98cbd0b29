package leasehold

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Clean-up makes sure that nothing stays behind of an owner whose requests had unknown outcomes. A
// request that was given up may still be on its way, so one answer to a release is not enough: the
// release is repeated until the request can no longer take effect or what it took has expired.

// send sends one release and, if its outcome or that of an earlier request is unknown, leaves the rest
// to the clean-up.
func (h *hold) send(r driver.Release) error {
	c := h.lock.client
	var err error
	switch ctx := context.Background(); {
	case c.abilities.Local:
		err = c.engine.Release(ctx, r)
	case c.inPlace(ctx, c.requestTimeout):
		inner, end := c.within(ctx, c.requestTimeout)
		err = why(ctx, c.engine.Release(inner, r))
		end()
	default:
		_, err = request(ctx, c, c.requestTimeout, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.engine.Release(ctx, r)
		}, ignore)
	}
	unknown := err != nil && !driver.IsNo(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if unknown || h.uncertain > 0 && h.uncertain > c.renewer.now() { // without reading the clock, if all has been certain
		h.clean(driver.Now())
	}
	return err
}

// clean hands an ended hold to the clean-up, and reports false if the client is closed. mu is held.
func (h *hold) clean(now driver.Instant) bool {
	r := &h.lock.client.renewer
	at := r.at(now)
	h.become(cleaning)
	h.failures, h.next = 0, at
	h.forget = max(at, h.uncertain) + h.lock.ttl + h.lock.client.requestTimeout
	return r.set(h, at)
}

// abandon ends an attempt that leads to nothing. A closed client has no background any more, so the
// caller then waits for the release itself.
func (h *hold) abandon() {
	h.mu.Lock()
	if h.cause == nil {
		h.cause = ErrUnavailable
	}
	background := h.clean(driver.Now())
	r := h.toRelease(0)
	h.mu.Unlock()
	if !background {
		h.send(r)
	}
}

// sends counts a request that is about to be sent.
func (h *hold) sends() sending {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	return sending{hold: h, before: h.uncertain, nth: h.requests}
}

// sending is one request for an owner.
type sending struct {
	hold   *hold
	before time.Duration // until when a request of before may take effect
	nth    int
}

// late hears of the outcome of a request that was given up and has ended after all. If the owner is over, what
// the request may have left must go. If the request says that nothing of it is under way any more, the
// owner is as certain as it was before, unless another request has been sent since.
func (s sending) late(g driver.Grant, err error) {
	h := s.hold
	h.mu.Lock()
	if g.Owner != "" {
		h.owner = g.Owner
	}
	if driver.HadNoEffect(err) && s.nth == h.requests {
		h.uncertain = s.before
	}
	gone := h.phase == over || h.phase == cleaning
	h.mu.Unlock()
	if gone {
		h.abandon()
	}
}

// background runs f, for which Close waits, and reports false if the client is closed.
func (c *Client) background(f func()) bool {
	c.renewer.mu.Lock()
	defer c.renewer.mu.Unlock()
	if !c.renewer.stopped {
		c.work.Go(f)
	}
	return !c.renewer.stopped
}

// swept takes in the answer to a release of the clean-up, which was sent at the time sent.
func (h *hold) swept(sent time.Duration, err error) {
	c := h.lock.client
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != cleaning {
		return
	}
	at := c.renewer.now()
	if (err == nil || driver.IsNo(err)) && sent >= h.uncertain {
		h.become(over)
		return
	}
	next := at + c.jitter(backoff(50*time.Millisecond, h.failures, max(h.lock.ttl/4, time.Second)))
	if err == nil || driver.IsNo(err) {
		next = min(next, max(h.uncertain, at+10*time.Millisecond))
	}
	if !c.renewer.set(h, next) {
		c.work.Go(func() { c.failed.add(h.closed()) }) // Close waits for what runs this, and so for that too
	}
}

// closed ends a hold because its client is closed. Once the engine has left one release of Close without an
// answer, the others are not tried: Close would take as many times as long.
func (h *hold) closed() error {
	hopeless := h.lock.client.failed.hopeless()
	h.mu.Lock()
	switch h.phase {
	case held:
		if hopeless {
			event := h.releasing()
			after := h.end(ErrClosed)
			h.mu.Unlock()
			after()
			event.Err = h.lock.failure("release", ErrUnknown, errNoAnswer)
			h.tellReleased(event)
			return event.Err
		}
		return h.giveUp(ErrClosed)
	case cleaning:
		h.become(over)
		r := h.toRelease(h.keep())
		h.mu.Unlock()
		if hopeless {
			return h.lock.failure("clean up", ErrUnknown, errNoAnswer)
		}
		if err := h.send(r); err != nil && !driver.IsNo(err) {
			return h.lock.failure("clean up", ErrUnknown, err)
		}
		return nil
	}
	h.mu.Unlock()
	return nil
}
