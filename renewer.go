package leasehold

import (
	"log/slog"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/schedule"
)

// maxBatch is how many leases one renewal carries, unless the engine says otherwise.
const maxBatch = 512

// handleAllDue handles each hold when it is due: it renews it, warns, ends it at its deadline, or cleans up after it.
func (c *Client) handleAllDue(due []*hold, now driver.Instant) {
	var renew []*hold
	for _, h := range due {
		if h.handleDue(now) {
			renew = append(renew, h)
		}
	}
	c.renew(renew)
}

// handleDue does what is due for h, and reports whether to renew it.
func (h *hold) handleDue(now driver.Instant) (renew bool) {
	c := h.lock.client
	if c.lifetime.Err() != nil {
		c.closeErrs.add(h.endOnClose())
		return false
	}
	h.mu.Lock()
	renew, open, after := h.handleDueLocked(now)
	h.mu.Unlock()
	after()
	if !open {
		c.closeErrs.add(h.endOnClose())
		return false
	}
	return renew
}

// handleDueLocked does the part of handleDue under mu. open is false if the client has been closed. The caller unlocks
// mu and then calls after.
func (h *hold) handleDueLocked(now driver.Instant) (renew, open bool, after func()) {
	switch h.phase {
	case phaseCleaning:
		return false, h.lock.client.cleanups.Add(h), doNothing
	case phaseHeld:
	default:
		return false, true, doNothing
	}
	left := h.remainingLocked(now)
	if left < schedule.Tick {
		return false, true, h.expireLocked(now)
	}
	h.watchLeasesLocked()
	after = doNothing
	if h.handles.Load() <= 0 && !h.dropped {
		h.dropped = true
		after = h.logDropped
	}
	if h.failures > 0 && !h.inDanger && left-h.dangerTime() < schedule.Tick {
		h.inDanger = true
		observe, log := h.dangerEventLocked(left), after
		after = func() { log(); observe() }
	}
	at := h.lock.client.schedule.At(now)
	if h.isRenewedLocked() && h.nextRequest-at < schedule.Tick {
		renew = true
		if lateAfter := renewalLateAfter(h.renewLimit()); at-h.nextRequest > lateAfter && !h.isFirstLease {
			h.lock.client.takeLimits.NoteProcessLate(lateAfter) // this process is late
		}
		// Unless it is answered before, the renewal counts as failed, and is repeated then.
		h.nextRequest = at + h.renewLimit() + h.retryAfterLocked()
		h.failures++
	}
	return renew, h.scheduleLocked(now), after
}

// scheduleLocked schedules a hold in phaseHeld for when it is due next, and reports false if the client is closed.
func (h *hold) scheduleLocked(now driver.Instant) bool {
	s := &h.lock.client.schedule
	deadline := s.At(now) + h.remainingLocked(now)
	at := deadline
	if h.isRenewedLocked() {
		at = min(at, h.nextRequest)
	}
	if h.failures > 0 && !h.inDanger {
		at = min(at, deadline-h.dangerTime())
	}
	return s.Set(&h.entry, at)
}

// renewAfter returns when to renew a lease that began at start. It rounds, so that renewals that are due at about the
// same time go together.
func (h *hold) renewAfter(start driver.Instant) time.Duration {
	at := h.lock.client.schedule.At(start) + h.lock.ttl/3
	return at - at%max(h.lock.ttl/64, schedule.Tick)
}

// isRenewedLocked reports whether the hold is renewed.
func (h *hold) isRenewedLocked() bool { return (!h.lock.noRenew || h.isFirstLease) && !h.dropped }

// dangerTime returns how much of a lease is left when it is in danger.
func (h *hold) dangerTime() time.Duration { return h.lock.ttl / 3 }

// renewLimit returns how long one renewal may take: short enough for several within the lease.
func (h *hold) renewLimit() time.Duration { return h.lock.client.requests.Limit(h.lock.ttl / 6) }

// retryAfterLocked returns the time from a failed renewal to the next.
func (h *hold) retryAfterLocked() time.Duration {
	return h.lock.client.jitter(backoff(h.lock.ttl/32, h.failures, h.lock.ttl/8))
}

func (h *hold) dangerEventLocked(left time.Duration) func() {
	c := h.lock.client
	event := InDanger{About: h.lock.about(h.mode), Token: h.token, Left: left}
	return func() {
		c.log.Write(slog.LevelWarn, "lease in danger: the engine does not confirm its renewal",
			"kind", event.Kind.String(), "name", event.Name, "token", event.Token, "left", left)
		for _, o := range c.observers.danger {
			o.ObserveDanger(event)
		}
	}
}

func (h *hold) logDropped() {
	h.lock.client.log.Write(slog.LevelError,
		"lease dropped without Release: it is no longer renewed; call Release, or use Do",
		"kind", h.lock.key.Kind.String(), "name", h.lock.key.Name)
}
