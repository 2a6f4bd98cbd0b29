package leasehold

import (
	"log/slog"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/agenda"
)

// renewer looks at each hold when it is due: to renew it, to warn, to end it at its deadline, or to
// clean up after it. There is one agenda and one timer for all, and no goroutine while
// nothing is due.
type renewer struct {
	born driver.Instant // the zero of its clock

	mu      sync.Mutex
	agenda  agenda.Agenda[*hold]
	timer   *time.Timer
	wake    time.Duration  // when the timer goes off; 0 if it is not set
	seen    driver.Instant // the last time that somebody looked
	stopped bool
}

const (
	// lookEvery bounds how long the renewer sleeps while anything is held: timers stand
	// still while the machine is suspended, leases do not.
	lookEvery = time.Second
	// jumped is the difference between clocks that makes the renewer look at everything.
	jumped = 10 * time.Millisecond
	// maxBatch is how many leases one renewal carries if the engine does not say.
	maxBatch = 512
)

// at is the time of an instant on the renewer's clock, which runs with Go's monotonic one.
func (r *renewer) at(i driver.Instant) time.Duration { return i.Time().Sub(r.born.Time()) }

func (r *renewer) now() time.Duration { return time.Since(r.born.Time()) }

// set makes h due at the time at, and reports false if the client is closed.
func (r *renewer) set(h *hold, at time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.agenda.Set(&h.entry, max(at, 0))
	if r.wake == 0 || at < r.wake {
		r.arm(at)
	}
	return true
}

func (r *renewer) remove(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agenda.Remove(&h.entry)
}

// arm sets the timer. mu is held.
func (r *renewer) arm(at time.Duration) {
	now := r.now()
	at = min(max(at, now), now+lookEvery)
	r.wake = max(at, 1)
	r.timer.Reset(at - now)
}

// stop empties the agenda for good and returns what was in it.
func (r *renewer) stop() []*hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.timer.Stop()
	return r.agenda.All(nil)
}

// tick looks at what is due.
func (c *Client) tick() {
	r := &c.renewer
	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()
		return
	}
	c.work.Add(1) // Close waits for those that are being looked at
	defer c.work.Done()
	now := driver.Now()
	ran := now.Time().Sub(r.seen.Time())
	r.wake = 0
	var due []*hold
	if now.Since(r.seen)-ran > jumped {
		due = r.agenda.All(nil) // the machine slept, or its clock was set: deadlines have moved
	} else {
		due = r.agenda.Due(r.at(now), nil)
	}
	r.seen = now
	r.mu.Unlock()

	var renew []*hold
	for _, h := range due {
		if h.due(now) {
			renew = append(renew, h)
		}
	}
	c.renew(renew)

	r.mu.Lock()
	defer r.mu.Unlock()
	if next, any := r.agenda.Next(); any && !r.stopped && (r.wake == 0 || next < r.wake) {
		r.arm(next)
	}
}

// due does what h is due for, and reports whether it is to be renewed.
func (h *hold) due(now driver.Instant) (renew bool) {
	c := h.lock.client
	if c.life.Err() != nil {
		c.failed.add(h.closed())
		return false
	}
	h.mu.Lock()
	switch h.phase {
	case cleaning:
		swept := h.sweep()
		h.mu.Unlock()
		if !swept {
			c.failed.add(h.closed())
		}
		return false
	case held:
	default:
		h.mu.Unlock()
		return false
	}
	left := h.left(now)
	if left < agenda.Tick {
		h.expire(now)
		return false
	}
	h.watch()
	var tell func()
	if h.handles.Load() <= 0 && !h.dropped {
		h.dropped = true
		tell = h.tellDropped
	}
	if h.failures > 0 && !h.danger && left-h.dangerous() < agenda.Tick {
		h.danger = true
		tell = h.tellDanger(left)
	}
	at := h.lock.client.renewer.at(now)
	if h.renewing() && h.next-at < agenda.Tick {
		renew = true
		if most := lateAfter(h.renewLimit()); at-h.next > most && !h.short {
			c.gates.late(at + most) // nobody has come to it in time
		}
		// If nothing is heard of it, it counts as failed and is tried again.
		h.next = at + h.renewLimit() + h.retry()
		h.failures++
	}
	scheduled := h.schedule(now)
	h.mu.Unlock()
	if tell != nil {
		tell()
	}
	if !scheduled {
		c.failed.add(h.closed())
		return false
	}
	return renew
}

// schedule puts the hold where it is due next, and reports false if the client is closed. mu is
// held, and the phase is held.
func (h *hold) schedule(now driver.Instant) bool {
	r := &h.lock.client.renewer
	deadline := r.at(now) + h.left(now)
	at := deadline
	if h.renewing() {
		at = min(at, h.next)
	}
	if h.failures > 0 && !h.danger {
		at = min(at, deadline-h.dangerous())
	}
	return r.set(h, at)
}

// renewAfter returns when to renew a lease that began at start. Renewals that are due at about the
// same time are put at the same time, so that they go together.
func (h *hold) renewAfter(start driver.Instant) time.Duration {
	at := h.lock.client.renewer.at(start) + h.lock.ttl/3
	return at - at%max(h.lock.ttl/64, agenda.Tick)
}

// renewing reports whether the hold is to be renewed. mu is held.
func (h *hold) renewing() bool { return (!h.lock.noRenew || h.short) && !h.dropped }

// dangerous is what must be left of a lease for it not to be in danger.
func (h *hold) dangerous() time.Duration { return h.lock.ttl / 3 }

// renewLimit is how long one renewal may take: short enough for several within the lease.
func (h *hold) renewLimit() time.Duration { return h.lock.client.limit(h.lock.ttl / 6) }

// retry is the time from a failed renewal to the next. mu is held.
func (h *hold) retry() time.Duration {
	return h.lock.client.jitter(backoff(h.lock.ttl/32, h.failures, h.lock.ttl/8))
}

func (h *hold) tellDanger(left time.Duration) func() {
	c := h.lock.client
	event := InDanger{About: h.lock.about(h.mode), Token: h.token, Left: left}
	return func() {
		c.log.write(slog.LevelWarn, "lease in danger: the engine does not confirm its renewal", "kind", event.Kind.String(), "name", event.Name, "token", event.Token, "left", left)
		for _, o := range c.observers.danger {
			o.ObserveDanger(event)
		}
	}
}

func (h *hold) tellDropped() {
	h.lock.client.log.write(slog.LevelError, "lease dropped without Release: it is no longer renewed; call Release, or use Do", "kind", h.lock.key.Kind.String(), "name", h.lock.key.Name)
}
