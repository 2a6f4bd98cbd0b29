package leasehold

import (
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/taskqueue"
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

const (
	// maxLeaving is how many releases are in flight in the background.
	maxLeaving = 128
	// leaveAfter is how long a release is kept back at most. A caller that asks for the same name again and again comes
	// within that time, and sends it along with its own request. It is several times that of such a request, because a
	// timer that fires during each of them would cost as much as it saves.
	leaveAfter = time.Millisecond
)

// leavings are the holds that are about to be released in the background.
type leavings struct {
	queue taskqueue.Queue[*hold]

	mu      sync.Mutex
	soon    []*hold // added since the timer was set
	timer   *time.Timer
	stopped bool
}

func (l *leavings) init(c *Client) { l.queue.Init(maxLeaving, c.schedule.Go, (*hold).leave) }

// add has a hold released: at once, or after leaveAfter. It reports false if the client is closed.
func (l *leavings) add(h *hold, atOnce bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return false
	case atOnce:
		return l.queue.Add(h)
	}
	if l.soon = append(l.soon, h); len(l.soon) > 1 {
		return true
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(leaveAfter, l.release)
	} else {
		l.timer.Reset(leaveAfter)
	}
	return true
}

// release has those released that nobody has sent along with another request. While the client is being closed, they
// stay for stop.
func (l *leavings) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.soon = slices.DeleteFunc(l.soon, func(h *hold) bool { return !h.isLeaving.Load() || l.queue.Add(h) })
}

// stop ends the background work, and returns the holds that are not released.
func (l *leavings) stop() []*hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.timer != nil {
		l.timer.Stop()
	}
	left := append(l.soon, l.queue.Stop()...)
	l.soon = nil
	return left
}

// leaveLocked ends the hold, and has it released in the background. It is parked meanwhile, so that a caller of this
// process can release it along with its own request. event is observed when the engine has answered; nil is none. If
// the client is closed, it returns the release, for the caller to send.
func (h *hold) leaveLocked(event *Released) (rest afterUnlock) {
	h.beginLeavingLocked(event)
	if !h.lock.client.leaving.add(h, !h.parked) {
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
	if h.hasTurn && h.mode == driver.Exclusive && !h.recalled && !h.isWanted() {
		h.parkLocked()
	}
}

// leave releases a hold in the background, unless a caller of this process does so.
func (h *hold) leave() {
	c := h.lock.client
	h.mu.Lock()
	var rest afterUnlock
	if h.phase == phaseLeaving {
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

// takeLeavingLocked ends a hold that is leaving, and returns the release, which the caller must send: nothing, if a
// caller of this process has taken the hold out of the local queue, and sends it.
func (h *hold) takeLeavingLocked() (rest afterUnlock) {
	if h.parked && !h.unparkLocked() {
		return rest
	}
	rest = h.leaving
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
	case phaseLeaving:
		rest = h.takeLeavingLocked()
	}
	return rest, h.nextTokenRangeLocked()
}
