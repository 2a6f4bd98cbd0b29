package leasehold

import (
	"cmp"
	"context"
	"log/slog"
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
	if h.failures > 0 && !h.inDanger && left-h.dangerTimeLocked() < schedule.Tick {
		h.inDanger = true
		observe, log := h.dangerEventLocked(left), after
		after = func() { log(); observe() }
	}
	at := h.lock.client.schedule.At(now)
	if h.isRenewedLocked() && h.nextRequest-at < schedule.Tick {
		renew = true
		if h.firstLease == 0 {
			h.lock.client.takeLimits.NoteDelay(at-h.nextRequest, h.renewLimitLocked())
		}
		// Unless it is answered before, the renewal counts as failed, and is repeated then.
		h.nextRequest = at + h.renewLimitLocked() + h.retryAfterLocked()
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
		at = min(at, deadline-h.dangerTimeLocked())
	}
	return s.Set(&h.entry, at)
}

// renewAfterLocked returns when to renew a lease that began at start. It rounds, so that renewals that are due at about
// the same time go together.
func (h *hold) renewAfterLocked(start driver.Instant) time.Duration {
	ttl := h.currentTTLLocked()
	at := h.lock.client.schedule.At(start) + ttl/3
	return at - at%max(ttl/64, schedule.Tick)
}

// currentTTLLocked returns how long the current lease lasts in whole.
func (h *hold) currentTTLLocked() time.Duration { return cmp.Or(h.firstLease, h.lock.ttl) }

func (h *hold) isRenewedLocked() bool { return (!h.lock.noRenew || h.firstLease > 0) && !h.dropped }

// dangerTimeLocked returns how much of a lease is left when it is in danger.
func (h *hold) dangerTimeLocked() time.Duration { return h.currentTTLLocked() / 3 }

// renewLimitLocked returns how long one renewal may take: short enough for several within the lease.
func (h *hold) renewLimitLocked() time.Duration {
	return h.lock.client.requests.Limit(h.currentTTLLocked() / 6)
}

// retryAfterLocked returns the time from a failed renewal to the next.
func (h *hold) retryAfterLocked() time.Duration {
	return h.lock.client.pause(h.currentTTLLocked()/32, h.failures, h.currentTTLLocked()/8)
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

// renewalGroup is what renewals of one batch have in common: how long they may take, and the server as far as is known.
type renewalGroup struct {
	limit time.Duration
	takes *takelimit.Limit
}

// renew sends the renewals in batches.
func (c *Client) renew(holds []*hold) {
	maxSize := c.abilities.MaxBatch
	if maxSize <= 0 {
		maxSize = maxBatch
	}
	groups := map[renewalGroup][]*hold{}
	var order []renewalGroup // in order, so that a seed reproduces its schedule
	for _, h := range holds {
		h.mu.Lock()
		g := renewalGroup{h.renewLimitLocked(), c.takeLimits.For(h.lock.key)}
		h.mu.Unlock()
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], h)
	}
	for _, g := range order {
		for batch := range slices.Chunk(groups[g], maxSize) {
			if c.abilities.Local {
				c.renewBatch(c.lifetime, batch, doNothing)
				continue
			}
			pending := g.takes.ExpectRenewals(g.limit)
			go func() {
				ctx, cancel := context.WithTimeoutCause(c.lifetime, g.limit, timelimit.ErrNoAnswer)
				defer cancel()
				pending.End(c.renewBatch(ctx, batch, pending.NoteAnswered))
			}()
		}
	}
}

// renewBatch sends one batch. It calls onHalf when the engine has answered for half of it, and reports whether it has:
// where leases are kept on several servers, one of them may be down.
func (c *Client) renewBatch(ctx context.Context, batch []*hold, onHalf func()) (halfAnswered bool) {
	items := make([]driver.Renewal, 0, len(batch))
	batch = slices.DeleteFunc(batch, func(h *hold) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.phase == phaseHeld { // it may have been released since it was due
			items = append(items, driver.Renewal{Hold: h.refLocked(), TTL: h.lock.ttl})
		}
		return h.phase != phaseHeld
	})
	if len(batch) == 0 {
		return true
	}
	half := int64(len(batch)+1) / 2
	var certain atomic.Int64
	answered := make([]atomic.Bool, len(batch))
	sent := driver.Now()
	c.engine.Renew(ctx, items, func(i int, err error) {
		if answered[i].Swap(true) {
			return
		}
		if (err == nil || driver.IsNo(err)) && certain.Add(1) == half {
			onHalf()
		}
		batch[i].noteRenewal(sent, err)
	})
	for i, h := range batch {
		if !answered[i].Load() {
			h.noteRenewal(sent, timelimit.ErrNoAnswer)
		}
	}
	return certain.Load() >= half
}

// noteRenewal takes the outcome of a renewal. An answer that is late, but within the request, counts like any other:
// success extends the lease from the moment when the request was sent, and a refusal is final.
func (h *hold) noteRenewal(sent driver.Instant, err error) {
	h.mu.Lock()
	wasHeld := h.phase == phaseHeld
	var event Renewed
	after := doNothing
	if wasHeld {
		event, after = h.noteRenewalLocked(sent, err)
	}
	h.mu.Unlock()
	after()
	if !wasHeld {
		return
	}
	for _, o := range h.lock.client.observers.renew {
		o.ObserveRenew(event)
	}
}

// noteRenewalLocked is noteRenewal for a hold that is held. The caller unlocks mu and then calls after.
func (h *hold) noteRenewalLocked(sent driver.Instant, err error) (event Renewed, after func()) {
	now := driver.Now()
	event = Renewed{About: h.lock.about(h.mode), Token: h.token, Slack: h.remainingLocked(now)}
	after = doNothing
	switch {
	case err == nil:
		h.extendLocked(sent, h.lock.ttl)
		if h.remainingLocked(now) > 0 {
			h.failures, h.inDanger, h.firstLease = 0, false, 0
			h.nextRequest = h.renewAfterLocked(sent)
		}
		h.scheduleLocked(now)
	case driver.IsNo(err):
		event.Err = ErrLost
		after = h.refuseLocked()
	default:
		event.Err = ErrUnavailable
		h.nextRequest = h.lock.client.schedule.At(now) + h.retryAfterLocked()
		h.scheduleLocked(now)
	}
	return event, after
}

// extendLocked makes the lease last for ttl from sent, unless it lasts longer already.
func (h *hold) extendLocked(sent driver.Instant, ttl time.Duration) {
	if sent.Since(h.start)+validity(ttl) > h.validity {
		h.start, h.validity = sent, validity(ttl)
	}
}

// noteExtended takes an Extend that the engine has confirmed.
func (h *hold) noteExtended(sent driver.Instant, ttl time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == phaseHeld {
		h.extendLocked(sent, ttl)
		h.scheduleLocked(driver.Now())
	}
}

// noteDowngraded takes a Downgrade that the engine has confirmed: others of this process may now be granted as well.
// The hold has counted as a read lock since before the request was sent.
func (h *hold) noteDowngraded() {
	h.mu.Lock()
	hadTurn := h.hasTurn
	h.hasTurn = false
	h.mu.Unlock()
	if hadTurn {
		h.lock.client.queue.EndTurn(h.lock.key)
	}
}

// noteRefused ends a hold that the engine no longer knows, unless it has ended.
func (h *hold) noteRefused() {
	h.mu.Lock()
	after := doNothing
	if h.phase == phaseHeld {
		after = h.refuseLocked()
	}
	h.mu.Unlock()
	after()
}

// refuseLocked ends a hold that the engine no longer knows. A take that is still in flight may yet take the lock for
// nobody: then it is cleaned up. The caller unlocks mu and then calls after.
func (h *hold) refuseLocked() (after func()) {
	return h.loseLocked(LossRefused, h.uncertainUntil > h.lock.client.schedule.Now())
}
