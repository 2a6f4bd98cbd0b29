package leasehold

import (
	"log/slog"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/agenda"
)

// renewer handles each hold when it is due: it renews it, warns, ends it at its deadline, or cleans up after it. All
// holds share one schedule and one timer, and no goroutine runs while nothing is due.
type renewer struct {
	start driver.Instant // zero of the renewer's clock

	mu       sync.Mutex
	schedule agenda.Agenda[*hold]
	timer    *time.Timer
	timerAt  time.Duration  // when the timer fires; 0 if it is not set
	lastRun  driver.Instant // when due holds were last taken from the schedule
	stopped  bool
}

const (
	// maxSleep limits how long the renewer sleeps while anything is held: timers stop while the machine is suspended,
	// but leases go on.
	maxSleep = time.Second
	// clockJump is the difference between clocks that makes the renewer handle all holds.
	clockJump = 10 * time.Millisecond
	// maxBatch is how many leases one renewal carries, unless the engine says otherwise.
	maxBatch = 512
)

// clockAt returns an instant on the renewer's clock, which is Go's monotonic clock.
func (r *renewer) clockAt(i driver.Instant) time.Duration { return i.Time().Sub(r.start.Time()) }

func (r *renewer) now() time.Duration { return time.Since(r.start.Time()) }

// scheduleAt makes h due at the time at, and reports false if the client is closed.
func (r *renewer) scheduleAt(h *hold, at time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.schedule.Set(&h.entry, max(at, 0))
	if r.timerAt == 0 || at < r.timerAt {
		r.armLocked(at)
	}
	return true
}

func (r *renewer) remove(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schedule.Remove(&h.entry)
}

// armLocked sets the timer.
func (r *renewer) armLocked(at time.Duration) {
	now := r.now()
	at = min(max(at, now), now+maxSleep)
	r.timerAt = max(at, 1)
	r.timer.Reset(at - now)
}

// stop empties the schedule for good and returns what was in it.
func (r *renewer) stop() []*hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.timer.Stop()
	return r.schedule.All(nil)
}

// runRenewer handles the holds that are due. It runs when the timer fires.
func (c *Client) runRenewer() {
	due, now, ok := c.takeDue()
	if !ok {
		return
	}
	defer c.background.Done()
	var renew []*hold
	for _, h := range due {
		if h.handleDue(now) {
			renew = append(renew, h)
		}
	}
	c.renew(renew)

	r := &c.renewer
	r.mu.Lock()
	defer r.mu.Unlock()
	if next, any := r.schedule.Next(); any && !r.stopped && (r.timerAt == 0 || next < r.timerAt) {
		r.armLocked(next)
	}
}

// takeDue takes the holds that are due now out of the schedule. ok is false if the client is closed; otherwise the
// caller must call background.Done when it has handled them.
func (c *Client) takeDue() (due []*hold, now driver.Instant, ok bool) {
	r := &c.renewer
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, now, false
	}
	c.background.Add(1) // Close waits for the holds that are being handled
	now = driver.Now()
	ran := now.Time().Sub(r.lastRun.Time())
	r.timerAt = 0
	if now.Since(r.lastRun)-ran > clockJump {
		due = r.schedule.All(nil) // the machine slept, or its clock was set: deadlines have moved
	} else {
		due = r.schedule.Due(r.clockAt(now), nil)
	}
	r.lastRun = now
	return due, now, true
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
		return false, h.startCleanupLocked(), doNothing
	case phaseHeld:
	default:
		return false, true, doNothing
	}
	left := h.remainingLocked(now)
	if left < agenda.Tick {
		return false, true, h.expireLocked(now)
	}
	h.watchLeasesLocked()
	after = doNothing
	if h.handles.Load() <= 0 && !h.dropped {
		h.dropped = true
		after = h.logDropped
	}
	if h.failures > 0 && !h.inDanger && left-h.dangerTime() < agenda.Tick {
		h.inDanger = true
		observe, log := h.dangerEventLocked(left), after
		after = func() { log(); observe() }
	}
	at := h.lock.client.renewer.clockAt(now)
	if h.isRenewedLocked() && h.nextRequest-at < agenda.Tick {
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
	r := &h.lock.client.renewer
	deadline := r.clockAt(now) + h.remainingLocked(now)
	at := deadline
	if h.isRenewedLocked() {
		at = min(at, h.nextRequest)
	}
	if h.failures > 0 && !h.inDanger {
		at = min(at, deadline-h.dangerTime())
	}
	return r.scheduleAt(h, at)
}

// renewAfter returns when to renew a lease that began at start. It rounds, so that renewals that are due at about the
// same time go together.
func (h *hold) renewAfter(start driver.Instant) time.Duration {
	at := h.lock.client.renewer.clockAt(start) + h.lock.ttl/3
	return at - at%max(h.lock.ttl/64, agenda.Tick)
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
