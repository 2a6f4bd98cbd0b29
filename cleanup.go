package leasehold

import (
	"context"
	"log/slog"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A take without an answer is of unknown outcome: it may have had an effect, or may still have one. The clean-up counts
// on that for one ttl after the take was given up, until unknownUntil. An effect after that is possible. It keeps the
// name for one ttl, for nobody, and breaks nothing, as the owner is never used again.
//
// The clean-up releases what such a take may have left, or a lease that has ended. One answer to a release is not
// enough while a take may be in flight: the release is repeated until one that was sent after unknownUntil is answered.
//
// After an outage there may be as many clean-ups as there were leases; they must not keep the client from other work,
// so few are in flight.

// maxCleanups is how many clean-up requests may be in flight at once.
const maxCleanups = 32

// noteOutcome notes the outcome of a take, or of a wait, which takes as well. A grant is something to clean up, too, if
// the call fails.
func (h *hold) noteOutcome(err error) {
	if driver.HadNoEffect(err) {
		return
	}
	h.mayHold = true
	if c := h.lock.client; err != nil && !c.abilities.Local {
		h.mu.Lock()
		h.unknownUntil = c.schedule.Now() + h.lock.ttl
		h.mu.Unlock()
	}
}

// isUnknownLocked reports whether a take may still have an effect.
func (h *hold) isUnknownLocked() bool {
	return h.unknownUntil > 0 && h.unknownUntil > h.lock.client.schedule.Now() // usually the clock is not read
}

// scheduleCleanupLocked hands an ended hold to the clean-up, and reports false if the client is closed.
func (h *hold) scheduleCleanupLocked(now driver.Instant) bool {
	c := h.lock.client
	at := c.schedule.At(now)
	h.setPhaseLocked(phaseCleaning)
	h.cleanUps = 0
	h.cleanUpUntil = max(at, h.unknownUntil) + h.lock.ttl + c.requests.Timeout
	c.schedule.Remove(&h.entry)
	return c.cleanups.Add(h)
}

// cleanUp ends an attempt that has failed, and releases what it may have left. That happens in the background, or
// before cleanUp returns if the client is closed.
func (h *hold) cleanUp() {
	if !h.mayHold {
		return
	}
	h.mu.Lock()
	if h.cause == nil {
		h.cause = ErrUnavailable
	}
	background := h.scheduleCleanupLocked(driver.Now())
	r := h.releaseRequestLocked(0)
	h.mu.Unlock()
	if !background {
		h.releaseOrCleanUp(context.Background(), r)
	}
}

// cleanUpOnce sends one release of the clean-up.
func (h *hold) cleanUpOnce() {
	c := h.lock.client
	h.mu.Lock()
	at := c.schedule.Now()
	if h.phase != phaseCleaning {
		h.mu.Unlock()
		return
	}
	if at >= h.cleanUpUntil {
		h.setPhaseLocked(phaseEnded)
		h.mu.Unlock()
		c.log.Write(slog.LevelWarn,
			"clean-up given up: the engine did not answer; the lock is free when its ttl has passed",
			"kind", h.lock.key.Kind.String(), "name", h.lock.key.Name)
		return
	}
	h.cleanUps++
	r := h.releaseRequestLocked(h.keepForLocked())
	h.mu.Unlock()
	err := c.sendRelease(c.lifetime, r)
	h.mu.Lock()
	open := h.noteCleanupLocked(at, err)
	h.mu.Unlock()
	if !open {
		c.closeErrs.add(h.endOnClose())
	}
}

// noteCleanupLocked handles the answer to a release of the clean-up that was sent at the time sent. It reports false if
// the client is closed.
func (h *hold) noteCleanupLocked(sent time.Duration, err error) (open bool) {
	c := h.lock.client
	if h.phase != phaseCleaning {
		return true
	}
	at := c.schedule.Now()
	answered := err == nil || driver.IsNo(err)
	if answered && sent >= h.unknownUntil {
		h.setPhaseLocked(phaseEnded)
		return true
	}
	next := at + c.pause(50*time.Millisecond, h.cleanUps, max(h.lock.ttl/4, time.Second))
	if answered {
		next = min(next, max(h.unknownUntil, at+10*time.Millisecond))
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
	case phaseHeld, phaseIdle:
		rest = h.releaseLocked(ErrClosed)
	case phaseLeaving:
		rest = h.takeLeavingLocked()
	case phaseCleaning:
		h.setPhaseLocked(phaseEnded)
		rest = afterUnlock{hold: h, op: opCleanUp, request: h.releaseRequestLocked(h.keepForLocked())}
	}
	h.mu.Unlock()
	rest.silent = silent
	return rest.run()
}
