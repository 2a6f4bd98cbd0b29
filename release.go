package leasehold

import (
	"context"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Release ends the lease. It does not depend on any context and takes no longer than a request may. It may be called
// again, and then returns the same.
//
// It returns nil if the lock was held to the end. It returns ErrLost, ErrMaxHold or ErrClosed if the lease
// had ended before, so that the end of the work was not protected. It returns ErrUnknown if the engine did
// not confirm: the lease has ended then as well, and the release is repeated in the background.
func (l *Lease) Release() error {
	l.releaseOnce.Do(func() { l.releaseErr = l.release(false) })
	return l.releaseErr
}

// release ends the lease. If later is set, it does not wait for the engine.
func (l *Lease) release(later bool) error {
	h := l.hold
	h.checkHeld()
	h.mu.Lock()
	rest := l.releaseOneLocked(later)
	h.mu.Unlock()
	return rest.run()
}

// releaseOneLocked releases one lease. The last one of a tenure ends the tenure, and the hold unless that is handed
// over or becomes idle.
func (l *Lease) releaseOneLocked(later bool) afterUnlock {
	h := l.hold
	h.unwatchLeaseLocked(l)
	l.lastDeadline = h.validity.deadline()
	if err := l.errLocked(); err != nil {
		return afterUnlock{hold: h, err: h.lock.newError("release", err, nil)}
	}
	rest := afterUnlock{hold: h, cause: ErrReleased}
	if h.openLeases--; h.openLeases > 0 {
		l.released = true
		if end := l.contextEnd; end != nil {
			h.contextEnds = slices.DeleteFunc(h.contextEnds, func(e *contextEnd) bool { return e == end })
			rest.ends = []*contextEnd{end}
		}
		return rest
	}
	rest.ends, rest.released = h.contextEnds, h.releaseEventLocked() // handOverLocked changes them
	switch {
	case h.handOverLocked() || h.parkIdleLocked():
		return rest
	case later:
		left := h.leaveLocked(rest.released)
		left.hold, left.ends, left.cause = h, rest.ends, rest.cause
		return left
	}
	return h.releaseLocked(ErrReleased)
}

// releaseLocked ends the hold, and has the engine release it.
func (h *hold) releaseLocked(cause error) afterUnlock {
	event, request := h.releaseEventLocked(), h.releaseRequestLocked(h.keepForLocked())
	rest := h.endLocked(cause)
	rest.released, rest.op, rest.request = event, opRelease, request
	return rest
}

// endLocked ends the hold here, for whatever cause. The caller must release whatever the engine still has. The
// renewer forgets the hold at once, so no renewal is begun after that.
func (h *hold) endLocked(cause error) afterUnlock {
	h.unparkLocked()
	rest := afterUnlock{hold: h, ends: h.contextEnds, cause: cause, endTurn: h.hasTurn}
	h.setPhaseLocked(phaseEnded)
	h.cause, h.contextEnds, h.hasTurn = cause, nil, false
	h.lock.client.schedule.Remove(&h.entry)
	return rest
}

// releaseOrCleanUp sends one release, or schedules the clean-up: see noteReleased.
func (h *hold) releaseOrCleanUp(ctx context.Context, r driver.Release) error {
	c := h.lock.client
	err := c.sendRelease(ctx, r)
	h.noteReleased(err)
	return err
}

// noteReleased schedules the clean-up if the outcome of a release, or of an earlier request, is unknown.
func (h *hold) noteReleased(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && !driver.IsNo(err) || h.isUnknownLocked() {
		h.scheduleCleanupLocked(driver.Now())
	}
}

// sendRelease sends one release, and returns when ctx ends.
func (c *Client) sendRelease(ctx context.Context, r driver.Release) error {
	if c.abilities.Local {
		return c.engine.Release(ctx, r)
	}
	inner, end := c.requests.Context(ctx, c.requests.Timeout)
	defer end()
	return timelimit.CauseOf(ctx, c.engine.Release(inner, r))
}

// releaseEventLocked returns the event of a release that is about to happen, or nil if nobody observes it, or nobody
// has a lease of the hold.
func (h *hold) releaseEventLocked() *Released {
	if h.lock.client.observers.release == nil || h.phase == phaseIdle {
		return nil
	}
	return &Released{About: h.lock.about(h.mode), Token: h.token, Held: time.Since(h.validity.tenureStart.Time())}
}

// keepForLocked returns how long AtLeast still keeps the lock taken.
func (h *hold) keepForLocked() time.Duration {
	if h.lock.atLeast == 0 || h.token == 0 { // a hold without a token was never granted to anybody
		return 0
	}
	return max(h.lock.atLeast-time.Since(h.validity.tenureStart.Time()), 0)
}
