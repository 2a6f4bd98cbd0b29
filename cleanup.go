package leasehold

import (
	"context"
	"log/slog"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// The clean-up undoes what an owner's requests of unknown outcome may have done. A request that was given up may still
// be in flight, so one answer to a release is not enough: the release is repeated for one ttl, until one that was sent
// after that is answered. A take that has effect still later keeps the name for one ttl, for nobody. Nobody relies on
// it, as its owner is never used again.
//
// After an outage there may be as many clean-ups as there were leases; they must not keep the client from other work,
// so few are in flight.

// maxCleanups is how many clean-up requests may be in flight at once.
const maxCleanups = 32

// releaseOrCleanUp sends one release. If the outcome of it, or of an earlier request, is unknown, it schedules the
// clean-up.
func (h *hold) releaseOrCleanUp(r driver.Release) error {
	c := h.lock.client
	err := c.sendRelease(context.Background(), r)
	unknown := err != nil && !driver.IsNo(err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if unknown || h.uncertainUntil > 0 && h.uncertainUntil > c.schedule.Now() { // usually the clock is not read
		h.scheduleCleanupLocked(driver.Now())
	}
	return err
}

// scheduleCleanupLocked hands an ended hold to the clean-up, and reports false if the client is closed.
func (h *hold) scheduleCleanupLocked(now driver.Instant) bool {
	s := &h.lock.client.schedule
	at := s.At(now)
	h.setPhaseLocked(phaseCleaning)
	h.cleanUps = 0
	h.cleanUpUntil = max(at, h.uncertainUntil) + h.lock.ttl + h.lock.client.requests.Timeout
	return s.Set(&h.entry, at)
}

// cleanUp ends an attempt that has failed, and releases what it may have left. That happens in the background, or
// before cleanUp returns if the client is closed.
func (h *hold) cleanUp() {
	h.mu.Lock()
	if h.cause == nil {
		h.cause = ErrUnavailable
	}
	background := h.scheduleCleanupLocked(driver.Now())
	r := h.releaseRequestLocked(0)
	h.mu.Unlock()
	if !background {
		h.releaseOrCleanUp(r)
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

// cleanUpOnce sends one release of the clean-up.
func (h *hold) cleanUpOnce() {
	c := h.lock.client
	h.mu.Lock()
	at := c.schedule.Now()
	needed, giveUp := h.phase == phaseCleaning, at >= h.cleanUpUntil
	var r driver.Release
	switch {
	case !needed:
	case giveUp:
		h.setPhaseLocked(phaseEnded)
	default:
		h.cleanUps++
		r = h.releaseRequestLocked(h.keepForLocked())
	}
	h.mu.Unlock()
	switch {
	case !needed:
		return
	case giveUp:
		c.log.Write(slog.LevelWarn,
			"clean-up given up: the engine did not answer; the lock is free when its ttl has passed",
			"kind", h.lock.key.Kind.String(), "name", h.lock.key.Name)
		return
	}
	h.noteCleanup(at, c.sendRelease(c.lifetime, r))
}

// noteCleanup handles the answer to a release of the clean-up that was sent at the time sent.
func (h *hold) noteCleanup(sent time.Duration, err error) {
	h.mu.Lock()
	open := h.noteCleanupLocked(sent, err)
	h.mu.Unlock()
	if !open {
		h.lock.client.closeErrs.add(h.endOnClose())
	}
}

// noteCleanupLocked is noteCleanup under mu. It reports false if the client is closed.
func (h *hold) noteCleanupLocked(sent time.Duration, err error) (open bool) {
	c := h.lock.client
	if h.phase != phaseCleaning {
		return true
	}
	at := c.schedule.Now()
	answered := err == nil || driver.IsNo(err)
	if answered && sent >= h.uncertainUntil {
		h.setPhaseLocked(phaseEnded)
		return true
	}
	next := at + c.pause(50*time.Millisecond, h.cleanUps, max(h.lock.ttl/4, time.Second))
	if answered {
		next = min(next, max(h.uncertainUntil, at+10*time.Millisecond))
	}
	return c.schedule.Set(&h.entry, next)
}

// endOnClose ends a hold because its client is closed. Once the engine has not answered one release of Close, the
// others are not tried: Close would take as many times as long.
func (h *hold) endOnClose() error {
	silent := h.lock.client.closeErrs.hasNoAnswer()
	h.mu.Lock()
	var rest afterUnlock
	switch h.phase {
	case phaseHeld:
		rest = h.releaseLocked(ErrClosed)
	case phaseCleaning:
		h.setPhaseLocked(phaseEnded)
		rest = afterUnlock{hold: h, op: opCleanUp, request: h.releaseRequestLocked(h.keepForLocked())}
	}
	h.mu.Unlock()
	rest.silent = silent
	return rest.run()
}
