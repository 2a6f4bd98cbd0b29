package leasehold

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/schedule"
	"github.com/leasehold-go/leasehold/internal/takelimit"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// maxBatch is how many leases one renewal carries, unless the engine says otherwise.
const maxBatch = 512

// handleAllDue handles each hold when it is due: it renews it, warns, ends it at its deadline, or cleans up after it.
func (c *Client) handleAllDue(due []*hold, now driver.Instant) {
	c.renew(slices.DeleteFunc(due, func(h *hold) bool { return !h.handleDue(now) }))
}

// handleDue does what is due for h, and reports whether to renew it.
func (h *hold) handleDue(now driver.Instant) (renew bool) {
	h.mu.Lock()
	renew, clientOpen, rest := h.handleDueLocked(now)
	h.mu.Unlock()
	rest.run()
	if !clientOpen {
		h.lock.client.closeErrs.add(h.endOnClose())
	}
	return renew && clientOpen
}

// handleDueLocked is handleDue under mu. clientOpen is false if the client has been closed.
func (h *hold) handleDueLocked(now driver.Instant) (renew, clientOpen bool, rest afterUnlock) {
	c := h.lock.client
	rest.hold = h
	switch {
	case c.lifetime.Err() != nil:
		return false, false, rest
	case h.phase == phaseCleaning:
		return false, c.cleanups.Add(h), rest
	case !h.isLiveLocked():
		return false, true, rest
	}
	left := h.validity.remaining(now)
	if left < schedule.Tick {
		return false, true, h.expireLocked(now)
	}
	if h.hasLingeredLocked(c.schedule.At(now)) && h.unparkLocked() {
		return false, true, h.leaveLocked(nil)
	}
	h.watchLeasesLocked()
	if h.openLeases > 0 && int(h.droppedLeases.Load()) == h.openLeases {
		h.openLeases, rest.dropped = 0, true
	}
	if h.unanswered > 0 && !h.inDanger && left-h.dangerTimeLocked() < schedule.Tick {
		h.inDanger = true
		if h.phase == phaseHeld { // nobody has a lease of an idle hold
			rest.danger = &InDanger{About: h.lock.about(h.mode), Token: h.token, Left: left}
		}
	}
	at := c.schedule.At(now)
	if h.isRenewedLocked() && !h.unsent && h.nextRenewal-at < schedule.Tick {
		renew = true
		if h.firstLease == 0 { // another process has begun that: a late renewal says nothing about this one
			c.takeLimits.NoteDelay(at-h.nextRenewal, h.renewLimitLocked())
		}
		h.unanswered++
		h.expectAnswerLocked(at)
		h.unsent = c.takeLimits.For(h.lock.key).HasUnsentRenewals()
	}
	return renew, h.scheduleLocked(now), rest
}

// expectAnswerLocked sets when a renewal that is sent at the time at is repeated, unless it is answered before.
func (h *hold) expectAnswerLocked(at time.Duration) {
	h.nextRenewal = at + h.renewLimitLocked() + h.retryAfterLocked()
}

// renewLimitLocked returns how long one renewal may take: short enough for several within the lease.
func (h *hold) renewLimitLocked() time.Duration {
	return h.lock.client.requests.TimeFor(h.currentTTLLocked() / 6)
}

// retryAfterLocked returns the time from a failed renewal to the next.
func (h *hold) retryAfterLocked() time.Duration {
	return h.lock.client.pause(h.currentTTLLocked()/32, h.unanswered, h.currentTTLLocked()/8)
}

// renewalGroup is what renewals of one batch have in common: how long they may take, and the server as far as is known.
type renewalGroup struct {
	limit   time.Duration
	limiter *takelimit.Limiter
}

// renew sends the renewals in batches, or lets them wait until they may be sent.
func (c *Client) renew(holds []*hold) {
	maxSize := c.abilities.MaxBatch
	if maxSize <= 0 {
		maxSize = maxBatch
	}
	groups := map[renewalGroup][]*hold{}
	var order []renewalGroup // so that a seed reproduces its schedule
	for _, h := range holds {
		h.mu.Lock()
		g := renewalGroup{h.renewLimitLocked(), c.takeLimits.For(h.lock.key)}
		h.mu.Unlock()
		if groups[g] == nil {
			order = append(order, g)
			groups[g] = make([]*hold, 0, len(holds))
		}
		groups[g] = append(groups[g], h)
	}
	for _, g := range order {
		for batch := range slices.Chunk(groups[g], maxSize) {
			if c.abilities.Local {
				c.renewBatch(batch, 0, func() {})
				continue
			}
			g.limiter.Renew(len(batch), g.limit, func(r *takelimit.Renewals) {
				defer r.End()
				c.renewBatch(batch, g.limit, r.NoteAnswer)
			})
		}
	}
}

// renewBatch sends one batch, which may take for as long as limit; 0 is no limit. It calls noteAnswer for each answer.
func (c *Client) renewBatch(batch []*hold, limit time.Duration, noteAnswer func()) {
	items := make([]driver.Renewal, 0, len(batch))
	now := driver.Now()
	batch = slices.DeleteFunc(batch, func(h *hold) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		waited := h.unsent
		h.unsent = false
		if !h.isLiveLocked() { // it may have been released since it was due
			return true
		}
		if waited {
			h.expectAnswerLocked(c.schedule.At(now))
			h.scheduleLocked(now)
		}
		items = append(items, driver.Renewal{Hold: h.refLocked(), TTL: h.lock.ttl})
		return false
	})
	if len(batch) == 0 {
		return
	}
	ctx, cancel := withTimeout(c.lifetime, limit, timelimit.ErrNoAnswer)
	defer cancel()
	answered := make([]atomic.Bool, len(batch))
	sent := driver.Now()
	c.engine.Renew(ctx, items, func(i int, err error) {
		if answered[i].Swap(true) {
			return
		}
		if err == nil || driver.IsNo(err) {
			noteAnswer()
		}
		batch[i].noteRenewal(sent, err)
	})
	for i, h := range batch {
		if !answered[i].Load() {
			h.noteRenewal(sent, timelimit.ErrNoAnswer)
		}
	}
}

// noteRenewal handles the outcome of a renewal. An answer that is late, but within the request, counts like any other:
// success extends the lease from the moment when the request was sent, and a refusal is final.
func (h *hold) noteRenewal(sent driver.Instant, err error) {
	h.mu.Lock()
	if !h.isLiveLocked() {
		h.mu.Unlock()
		return
	}
	event, rest := h.noteRenewalLocked(sent, err)
	h.mu.Unlock()
	rest.run()
	for _, o := range h.lock.client.observers.renew {
		o.ObserveRenew(event)
	}
}

// noteRenewalLocked is noteRenewal for a live hold. It returns the event by value: there are very many.
func (h *hold) noteRenewalLocked(sent driver.Instant, err error) (event Renewed, rest afterUnlock) {
	rest.hold = h
	now := driver.Now()
	event = Renewed{About: h.lock.about(h.mode), Token: h.token, Slack: h.validity.remaining(now)}
	switch {
	case err == nil:
		h.validity.extend(sent, h.lock.ttl)
		if h.validity.remaining(now) > 0 {
			h.unanswered, h.inDanger, h.firstLease = 0, false, 0
			h.nextRenewal = h.renewAtLocked(sent)
		}
		h.scheduleLocked(now)
	case driver.IsNo(err):
		event.Err = ErrLost
		rest = h.refuseLocked()
	default:
		event.Err = ErrUnavailable
		h.nextRenewal = h.lock.client.schedule.At(now) + h.retryAfterLocked()
		h.scheduleLocked(now)
	}
	return event, rest
}

// noteExtended handles an Extend that the engine has confirmed.
func (h *hold) noteExtended(sent driver.Instant, ttl time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isLiveLocked() {
		h.validity.extend(sent, ttl)
		h.scheduleLocked(driver.Now())
	}
}

// noteDowngraded handles a Downgrade that the engine has confirmed: others of this process may now be granted as well.
// The hold has counted as a read lock since before the request was sent.
func (h *hold) noteDowngraded() {
	h.mu.Lock()
	rest := afterUnlock{hold: h, endTurn: h.hasTurn}
	h.hasTurn = false
	h.mu.Unlock()
	rest.run()
}

// noteNotHeld ends a hold that the engine no longer knows, unless it has ended.
func (h *hold) noteNotHeld() {
	h.mu.Lock()
	var rest afterUnlock
	if h.isLiveLocked() {
		rest = h.refuseLocked()
	}
	h.mu.Unlock()
	rest.run()
}
