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
	ttl   time.Duration
	label string
	plain bool
}

// turnTransfer is what a caller gets along with its turn: a tenure of a hold that is handed over, or, without a hold,
// the start of the outage that the previous caller has seen.
type turnTransfer struct {
	hold        *hold
	tenure      uint32
	token       uint64
	outageSince time.Time
}

func (l *lock) turnRequest(a *acquisition) turnRequest {
	return turnRequest{ttl: l.ttl, label: l.label, plain: l.isPlain() && a.mode == driver.Exclusive}
}

// handOverLocked hands the hold to the next caller in the local queue, as a new tenure with one of the reserved tokens,
// and reports whether it did. No request is sent: the engine sees the same owner.
func (h *hold) handOverLocked() bool {
	l := h.lock
	c := l.client
	if !h.hasTurn || h.spareTokens == 0 || h.mode != driver.Exclusive || !l.isPlain() {
		return false
	}
	now := driver.Now()
	if c.lifetime.Err() != nil || now.Since(h.grantedAt) > maxHandOverTime || h.validity.remaining(now) < l.ttl/3 {
		return false
	}
	if w, ok := c.engine.(driver.Wanter); ok && w.Wanted(l.key) {
		return false
	}
	return c.queue.PassTurn(l.key, func(w turnRequest) (turnTransfer, bool) {
		if !w.plain || w.ttl != l.ttl || w.label != l.label {
			return turnTransfer{}, false
		}
		h.tenure++
		h.token++
		h.spareTokens--
		h.openLeases, h.validity.tenureStart, h.contextEnds = 1, now, nil
		return turnTransfer{hold: h, tenure: h.tenure, token: h.token}, true
	})
}
