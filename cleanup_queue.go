package leasehold

import (
	"log/slog"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// cleanupQueue limits how many clean-up requests of a client are in flight; the other holds wait in order. After an
// outage there may be as many as there were leases, and they must not keep the client from other work.
type cleanupQueue struct {
	mu       sync.Mutex
	inFlight int
	waiting  []*hold
	stopped  bool
}

// maxCleanups is how many clean-up requests may be in flight at once.
const maxCleanups = 32

// admit reports whether h may be released now; otherwise h waits until next returns it. ok is false if the client is
// closed.
func (q *cleanupQueue) admit(h *hold) (now, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.stopped:
		return false, false
	case q.inFlight < maxCleanups:
		q.inFlight++
		return true, true
	}
	q.waiting = append(q.waiting, h)
	return false, true
}

// next ends a request and returns the hold to release next, or nil.
func (q *cleanupQueue) next() *hold {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.inFlight--
		q.waiting = nil
		return nil
	}
	h := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	return h
}

// cancel takes back an admission whose request was not sent.
func (q *cleanupQueue) cancel() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight--
}

// stop returns the holds that wait. From now on none is admitted.
func (q *cleanupQueue) stop() []*hold {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting
	q.waiting, q.stopped = nil, true
	return waiting
}

// startCleanupLocked releases the hold in the background, and reports false if the client is closed. The phase is
// phaseCleaning.
func (h *hold) startCleanupLocked() bool {
	c := h.lock.client
	now, ok := c.cleanups.admit(h)
	if !now {
		return ok
	}
	started := c.runInBackground(func() {
		for next := h; next != nil; next = c.cleanups.next() {
			next.cleanUpOnce()
		}
	})
	if !started {
		c.cleanups.cancel()
	}
	return started
}

// cleanUpOnce sends one release of the clean-up.
func (h *hold) cleanUpOnce() {
	c := h.lock.client
	h.mu.Lock()
	at := c.renewer.now()
	needed, giveUp := h.phase == phaseCleaning, at >= h.cleanUpUntil
	var r driver.Release
	switch {
	case !needed:
	case giveUp:
		h.setPhaseLocked(phaseEnded)
	default:
		h.failures++
		r = h.releaseRequestLocked(h.keepForLocked())
	}
	h.mu.Unlock()
	switch {
	case !needed:
		return
	case giveUp:
		c.log.Write(slog.LevelWarn,
			"clean-up given up: the engine did not answer; the lock is free when its ttl has passed",
			"kind", h.lock.key.Kind.String(), "name", h.lock.key.Name)
		return
	}
	h.noteCleanup(at, c.sendRelease(c.lifetime, r))
}
