package leasehold

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// maxHandOverTime limits how long a lock is handed over inside this process before the engine is asked again. So it
// limits how long a waiter elsewhere is passed over, on engines that cannot tell that there is one.
const maxHandOverTime = 10 * time.Millisecond

// turnRequest is what a caller in the local queue wants.
type turnRequest struct {
	ttl    time.Duration
	label  string
	plain  bool
	linger time.Duration
}

// turnTransfer is what a caller gets along with its turn: a tenure of a hold that is handed over; a hold that was
// parked, and is perhaps idle; or, without a hold, the start of the outage that the previous caller has seen.
type turnTransfer struct {
	hold        *hold
	parked      bool // the hold has no tenure for the caller yet: see reuse and follow
	tenure      uint32
	token       uint64
	outageSince time.Time
}

func (l *lock) turnRequest(a *acquisition) turnRequest {
	return turnRequest{
		ttl: l.ttl, label: l.label, plain: l.isPlain() && a.mode == driver.Exclusive, linger: l.linger,
	}
}

// handOverLocked hands the hold to the next caller in the local queue, as a new tenure with one of the reserved tokens,
// and reports whether it did. No request is sent: the engine sees the same owner.
func (h *hold) handOverLocked() bool {
	l := h.lock
	c := l.client
	if !h.hasTurn || h.hasUnconfirmedData() || h.spareTokens == 0 || h.mode != driver.Exclusive || !l.isPlain() {
		return false
	}
	now := driver.Now()
	// An engine that recalls tells of waiters elsewhere: then the hand-overs need no other limit.
	hasLimit := !h.recallable || c.maxReservedTokens == 0
	if hasLimit && (h.handOvers >= c.maxReservedTokens || now.Since(h.grantedAt) > maxHandOverTime) {
		return false
	}
	return h.canContinueLocked(now) && c.queue.PassTurn(l.key, func(w turnRequest) (turnTransfer, bool) {
		if !h.suits(w) {
			return turnTransfer{}, false
		}
		h.handOvers++
		return h.nextTenureLocked(now), true
	})
}

// canContinueLocked reports whether the hold may have one more tenure without a request to the engine. Few tokens are
// reserved if it is not recallable: then they are ahead of the clock only if the clock of another process is.
func (h *hold) canContinueLocked(now driver.Instant) bool {
	isAhead := h.recallable && tokenLead(h.token, now.Time()) > maxTokenLead
	return h.spareTokens > 0 && !h.recalled && !isAhead && h.lock.client.lifetime.Err() == nil &&
		h.validity.remaining(now) >= h.lock.ttl/3 && !h.isWanted()
}

// isWanted reports whether the engine knows that somebody waits for the name.
func (h *hold) isWanted() bool {
	w, ok := h.lock.client.engine.(driver.Wanter)
	return ok && w.Wanted(h.lock.key)
}

// suits reports whether a caller would have got the same from the engine.
func (h *hold) suits(w turnRequest) bool {
	l := h.lock
	return w.plain && w.ttl == l.ttl && w.label == l.label && w.linger == l.linger
}

// nextTenureLocked begins the next tenure of the hold, with the next of its tokens.
func (h *hold) nextTenureLocked(now driver.Instant) turnTransfer {
	h.endTenureLocked()
	h.token++
	h.spareTokens--
	h.openLeases, h.validity.tenureStart = 1, now
	return turnTransfer{hold: h, tenure: h.tenure, token: h.token}
}
