package leasehold

import (
	"cmp"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/schedule"
)

// A hold of a lock with Linger becomes idle when its last lease is released and nobody waits for it, here or on the
// engine: the client keeps it, and renews it. It is parked in the local queue, so the next caller of this process that
// asks for the name finds it there, and takes it with the next token that the engine has reserved for it: no request is
// sent. Otherwise the hold is released when Linger has passed, or as soon as the engine calls recall, because somebody
// else asks for the name.
//
// A parked hold has no turn. Whoever wants to end it takes it out of the queue first (unparkLocked), and then has the
// turn. So a hold is either taken by a caller or ended, and never both.

const (
	// A lock that lingers asks for this many tokens. When they are used up it asks for twice as many as before, so that
	// few are wasted if it is recalled often.
	firstTokenRange, maxTokenRange = 64, 8192
	// On engines whose tokens are microseconds, a range that is used up faster than that runs ahead of the clock. A
	// hold whose tokens are ahead by half of maxTokenLead asks for one token, and does not linger.
	maxTokenLead = time.Second
)

// tokenLead returns how far a token is ahead of the clock, if it is a time in microseconds. Other tokens are smaller.
func tokenLead(token uint64, now time.Time) time.Duration {
	return time.Duration(int64(token)-now.UnixMicro()) * time.Microsecond
}

// lingerRequest makes r ask for a hold that may become idle, if the lock lingers.
func (h *hold) lingerRequest(r *driver.Request, a *acquisition) {
	if l := h.lock; l.linger > 0 && l.key.Kind == driver.Lock && a.mode == driver.Exclusive && l.isPlain() {
		r.Recall, r.Tokens = h.recall, max(r.Tokens, cmp.Or(a.tokens, firstTokenRange))
	}
}

// nextTokenRangeLocked returns how many tokens to ask for after those of this hold.
func (h *hold) nextTokenRangeLocked() int {
	switch {
	case tokenLead(h.token, time.Now()) > maxTokenLead/2:
		return 1
	case h.spareTokens > 0:
		return firstTokenRange
	}
	return min(max(2*h.tokenRange, firstTokenRange), maxTokenRange)
}

// parkIdleLocked makes a hold idle whose last lease is being released, and reports false if it must be released.
func (h *hold) parkIdleLocked() bool {
	l := h.lock
	c := l.client
	if !h.recallable || h.recalled || !h.hasTurn || h.hasUnconfirmedData() || h.mode != driver.Exclusive {
		return false
	}
	now := driver.Now()
	isFull := 2*c.leaseCount.Load() > int64(c.maxLeases) // the rest is for leases in use
	if isFull || c.lifetime.Err() != nil || h.isWanted() || h.validity.remaining(now) < l.ttl/3 || !h.parkLocked() {
		return false
	}
	// The tokens may be used up. Who finds the hold then asks for more of them: see follow.
	h.setPhaseLocked(phaseIdle)
	h.endTenureLocked()
	h.idleUntil = c.schedule.At(now) + l.linger
	if h.idleUntil < h.entryAt {
		h.scheduleLocked(now) // it fails if the client is closed, and Close ends the hold then
	}
	return true
}

// parkLocked leaves the hold in the local queue and gives up the turn, unless somebody waits for it.
func (h *hold) parkLocked() bool {
	if !h.lock.client.queue.Park(h.lock.key, turnTransfer{hold: h, parked: true}) {
		return false
	}
	h.hasTurn, h.parked = false, true
	return true
}

// unparkLocked takes a parked hold out of the local queue, along with the turn, and reports false if a caller has taken
// it, or if it was never parked.
func (h *hold) unparkLocked() bool {
	if !h.parked {
		return false
	}
	h.parked = false
	h.hasTurn = h.lock.client.queue.Unpark(h.lock.key)
	return h.hasTurn
}

// reuse makes a lease of a parked hold that the caller has taken out of the local queue, along with the turn. It
// returns false if the caller cannot have that hold: it then asks the engine, and must release the hold before.
func (h *hold) reuse(w turnRequest) (turnTransfer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parked = false
	now := driver.Now()
	if h.phase != phaseIdle || !h.canContinueLocked(now) || !h.suits(w) {
		return turnTransfer{}, false
	}
	h.setPhaseLocked(phaseHeld)
	h.hasTurn = true
	return h.nextTenureLocked(now), true
}

// putBack parks a hold again that a caller has taken out of the local queue, along with the turn, but cannot use.
func (h *hold) putBack() {
	rest := afterUnlock{hold: h, endTurn: true}
	h.mu.Lock()
	switch {
	case !h.isLiveLocked() && h.phase != phaseLeaving: // it has ended meanwhile
	case h.phase == phaseIdle && !h.recalled && h.parkLocked():
		rest.endTurn = false
	default:
		h.hasTurn = true
		rest = h.leaveLocked(h.leaving.released)
	}
	h.mu.Unlock()
	_ = rest.run()
}

// recall is called by the engine when somebody else asks for the name. It reports whether the hold is in use; otherwise
// it is released at once. A hold that was recalled does not become idle. An engine may call this where it must not wait
// for an answer, so the release is sent in the background.
func (h *hold) recall() (inUse bool) {
	c := h.lock.client
	h.mu.Lock()
	h.recalled = true
	inUse = h.isLiveLocked()
	var rest afterUnlock
	if h.phase == phaseIdle && h.unparkLocked() {
		inUse = false
		switch {
		case c.abilities.Local:
			rest = h.releaseLocked(ErrReleased)
		case c.leaving.add(h, true): // leave waits for mu
			h.beginLeavingLocked(nil)
		default: // the client is being closed, and Close ends the hold
			h.parkLocked()
		}
	}
	h.mu.Unlock()
	_ = rest.run()
	return inUse
}

// hasLingeredLocked reports whether the hold has been idle for as long as Linger allows.
func (h *hold) hasLingeredLocked(at time.Duration) bool {
	return h.phase == phaseIdle && h.idleUntil-at < schedule.Tick
}
