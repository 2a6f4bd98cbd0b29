package leasehold

import (
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/schedule"
)

// checkHeld ends the hold if its deadline has passed, and reports whether it is held.
func (h *hold) checkHeld() (isHeld bool) {
	var rest afterUnlock
	h.mu.Lock()
	if isHeld = h.phase == phaseHeld; isHeld {
		if now := driver.Now(); h.validity.remaining(now) <= 0 {
			isHeld, rest = false, h.expireLocked(now)
		}
	}
	h.mu.Unlock()
	rest.run()
	return isHeld
}

// expireLocked ends a hold whose deadline has passed.
func (h *hold) expireLocked(now driver.Instant) afterUnlock {
	l := h.lock
	how := LossDeadline
	switch {
	case l.maxHold > 0 && now.Since(h.validity.tenureStart) >= l.maxHold-schedule.Tick:
		how = LossMaxHold
	case h.openLeases == 0:
		how = LossDropped
	case l.noRenew:
		how = LossNotRenewed
	}
	return h.loseLocked(how, true)
}

// refuseLocked ends a hold that the engine no longer knows. A take that is still in flight may yet take the lock for
// nobody: then it is cleaned up.
func (h *hold) refuseLocked() afterUnlock {
	return h.loseLocked(LossRefused, h.isUnknownLocked())
}

// loseLocked ends a hold that was not released. If cleanUp is set, the engine may still have it, and is asked to
// release it. Nobody has a lease of an idle hold, so nobody is told of its loss.
func (h *hold) loseLocked(how Loss, cleanUp bool) afterUnlock {
	now, wasIdle := driver.Now(), h.phase == phaseIdle
	rest := h.endLocked(how.cause())
	if !wasIdle {
		rest.lost = &Lost{
			About: h.lock.about(h.mode), Token: h.token, Cause: h.cause, How: how, Reason: losses[how].reason,
			Held: now.Since(h.validity.tenureStart),
		}
	}
	if cleanUp {
		h.scheduleCleanupLocked(now)
	}
	return rest
}
