package leasehold

import (
	"github.com/leasehold-go/leasehold/driver"
)

// ReleaseLater ends the lease as Release does, but does not wait for the engine: the release is sent in the background.
// So a short job under a lock takes one round trip less. The lease is over when ReleaseLater returns.
//
// Calls of this process for the same name come after the release, in the same request if the engine can do that. If the
// release fails, an observer is told, it is repeated, and the lock stays taken for no longer than its ttl. Client.Close
// sends what is left. A Release that follows returns nil, or why the lease had ended before.
func (l *Lease) ReleaseLater() {
	l.releaseOnce.Do(func() { l.releaseErr = l.release(true) })
}

// maxLeaving is how many releases are in flight in the background.
const maxLeaving = 128

// leaveLocked ends the hold, and has it released in the background. It is parked meanwhile, so that a caller of this
// process can release it along with its own request. event is observed when the engine has answered; nil is none. If
// the client is closed, it returns the release, for the caller to send.
func (h *hold) leaveLocked(event *Released) (rest afterUnlock) {
	h.beginLeavingLocked(event)
	if !h.lock.client.leaving.Add(h) && (!h.parked || h.unparkLocked()) {
		rest = h.takeLeavingLocked()
	}
	return rest
}

// beginLeavingLocked is leaveLocked, but the caller has the hold released.
func (h *hold) beginLeavingLocked(event *Released) {
	h.lock.client.schedule.Remove(&h.entry)
	h.endTenureLocked()
	h.leaving = afterUnlock{hold: h, op: opRelease, request: h.releaseRequestLocked(h.keepForLocked()), released: event}
	h.cause = ErrReleased
	h.setPhaseLocked(phaseLeaving)
	if h.hasTurn && h.mode == driver.Exclusive {
		h.parkLocked()
	}
}

// leave releases a hold in the background, unless a caller of this process does so.
func (h *hold) leave() {
	c := h.lock.client
	h.mu.Lock()
	var rest afterUnlock
	if h.phase == phaseLeaving && (!h.parked || h.unparkLocked()) {
		rest = h.takeLeavingLocked()
	}
	h.mu.Unlock()
	err := rest.run() // observers are told of an error
	if err == nil || c.lifetime.Err() == nil {
		return
	}
	h.mu.Lock()
	mine := h.phase == phaseCleaning // otherwise Close has cleaned up, and tells of that
	if mine {
		c.schedule.Remove(&h.entry)
		h.setPhaseLocked(phaseEnded)
	}
	h.mu.Unlock()
	if mine {
		c.closeErrs.add(err)
	}
}

// takeLeavingLocked ends a hold that is leaving. The caller must send the release.
func (h *hold) takeLeavingLocked() afterUnlock {
	rest := h.leaving
	rest.endTurn = h.hasTurn
	h.leaving, h.hasTurn = afterUnlock{}, false
	h.setPhaseLocked(phaseEnded)
	return rest
}

// follow ends a parked hold that the caller has taken out of the local queue, along with the turn. It returns the
// release that the caller must send, unless the hold has ended meanwhile, and how many tokens to ask for if the next
// hold may linger. The caller keeps the turn.
func (h *hold) follow() (rest afterUnlock, tokens int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parked = false
	switch h.phase {
	case phaseIdle:
		rest = h.releaseLocked(ErrReleased)
		rest.released = nil
	case phaseLeaving:
		rest = h.takeLeavingLocked()
	}
	return rest, h.nextTokenRangeLocked()
}
