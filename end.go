package leasehold

import (
	"log/slog"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/schedule"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// afterUnlock is what a function that has changed a hold leaves to be done without hold.mu: what may block, or calls
// observers or contexts. Its caller unlocks hold.mu and then calls run. The zero value does nothing.
//
// It is a struct rather than a function, because releases are frequent and a struct needs no allocation.
type afterUnlock struct {
	hold    *hold
	ends    []*contextEnd // contexts to cancel with cause
	cause   error
	request driver.Release
	op      string // what the request is for; empty if none is sent
	silent  bool   // the engine is known not to answer: no request is sent, and its outcome is unknown
	endTurn bool   // end the turn of the local queue, after the request: before, others would ask in vain
	dropped bool   // log that all leases were dropped
	err     error  // what run returns, if no request is sent

	// Events; nil if there is none.
	danger   *InDanger
	lost     *Lost
	renewed  *Renewed
	released *Released
}

// The values of afterUnlock.op.
const (
	opRelease = "release"
	opCleanUp = "clean up"
)

// run does what is left to do, and returns the outcome of a release.
func (r *afterUnlock) run() error {
	for _, e := range r.ends {
		e.cancel(r.cause)
	}
	if r.op != "" {
		r.err = r.send()
	}
	if r.endTurn {
		r.hold.lock.client.queue.EndTurn(r.hold.lock.key)
	}
	if r.dropped || r.danger != nil || r.lost != nil {
		r.tell()
	}
	if r.renewed != nil {
		for _, o := range r.hold.lock.client.observers.renew {
			o.ObserveRenew(*r.renewed)
		}
	}
	if r.released != nil {
		r.released.Err = r.err
		for _, o := range r.hold.lock.client.observers.release {
			o.ObserveRelease(*r.released)
		}
	}
	return r.err
}

// send asks the engine to release the hold.
func (r *afterUnlock) send() error {
	l := r.hold.lock
	if r.endTurn {
		l.client.queue.SetHeld(l.key, false) // a try of this process waits for the outcome: the name may become free
	}
	err := timelimit.ErrNoAnswer
	if !r.silent {
		err = r.hold.releaseOrCleanUp(r.request)
	}
	switch {
	case err == nil, driver.IsNo(err) && r.op == opCleanUp:
		return nil
	case driver.IsNo(err):
		return l.newError(r.op, ErrLost, nil)
	default:
		return l.newError(r.op, ErrUnknown, err)
	}
}

// tell logs and observes what has gone wrong with the lease.
func (r *afterUnlock) tell() {
	c := r.hold.lock.client
	kind, name := r.hold.lock.key.Kind.String(), r.hold.lock.key.Name
	if r.dropped {
		c.log.Write(slog.LevelError, "lease dropped without Release: it is no longer renewed; call Release, or use Do",
			"kind", kind, "name", name)
	}
	if e := r.danger; e != nil {
		c.log.Write(slog.LevelWarn, "lease in danger: the engine does not confirm its renewal",
			"kind", kind, "name", name, "token", e.Token, "left", e.Left)
		for _, o := range c.observers.danger {
			o.ObserveDanger(*e)
		}
	}
	if e := r.lost; e != nil {
		c.log.Write(slog.LevelWarn, "lease lost",
			"kind", kind, "name", name, "token", e.Token, "cause", e.Cause.Error(), "reason", e.Reason, "held", e.Held)
		for _, o := range c.observers.lost {
			o.ObserveLost(*e)
		}
	}
}

// endLocked ends the hold here, for whatever cause. What the engine may still have is the matter of the caller. The
// renewer forgets the hold at once, so no renewal is begun after that.
func (h *hold) endLocked(cause error) afterUnlock {
	rest := afterUnlock{hold: h, ends: h.contextEnds, cause: cause, endTurn: h.hasTurn}
	h.setPhaseLocked(phaseEnded)
	h.cause, h.contextEnds, h.hasTurn = cause, nil, false
	h.lock.client.schedule.Remove(&h.entry)
	return rest
}

// releaseLocked ends the hold, and has the engine release it.
func (h *hold) releaseLocked(cause error) afterUnlock {
	event, request := h.releaseEventLocked(), h.releaseRequestLocked(h.keepForLocked())
	rest := h.endLocked(cause)
	rest.released, rest.op, rest.request = event, opRelease, request
	return rest
}

// releaseEventLocked returns the event of a release that is about to happen, or nil if nobody observes it.
func (h *hold) releaseEventLocked() *Released {
	if h.lock.client.observers.release == nil {
		return nil
	}
	return &Released{
		About: h.lock.about(h.mode), Token: h.token, Held: time.Since(h.validity.tenureStart.Time()),
	}
}

// keepForLocked returns how long AtLeast still keeps the lock taken.
func (h *hold) keepForLocked() time.Duration {
	if h.lock.atLeast == 0 || h.token == 0 { // a hold without a token was never granted to anybody
		return 0
	}
	return max(h.lock.atLeast-time.Since(h.validity.tenureStart.Time()), 0)
}

// checkHeld ends the hold if its deadline has passed, and reports whether it is held.
func (h *hold) checkHeld() (isHeld bool) {
	var rest afterUnlock
	h.mu.Lock()
	if isHeld = h.phase == phaseHeld; isHeld {
		if now := driver.Now(); h.validity.remaining(now) <= 0 {
			isHeld, rest = false, h.expireLocked(now)
		}
	}
	h.mu.Unlock()
	rest.run()
	return isHeld
}

// expireLocked ends a hold whose deadline has passed.
func (h *hold) expireLocked(now driver.Instant) afterUnlock {
	l := h.lock
	how := LossDeadline
	switch {
	case l.maxHold > 0 && now.Since(h.validity.tenureStart) >= l.maxHold-schedule.Tick:
		how = LossMaxHold
	case h.dropped:
		how = LossDropped
	case l.noRenew:
		how = LossNotRenewed
	}
	return h.loseLocked(how, true)
}

// refuseLocked ends a hold that the engine no longer knows. A take that is still in flight may yet take the lock for
// nobody: then it is cleaned up.
func (h *hold) refuseLocked() afterUnlock {
	return h.loseLocked(LossRefused, h.uncertainUntil > h.lock.client.schedule.Now())
}

// loseLocked ends a hold that was not released. If cleanUp is set, the engine may still have it, and is asked to
// release it.
func (h *hold) loseLocked(how Loss, cleanUp bool) afterUnlock {
	now := driver.Now()
	rest := h.endLocked(how.cause())
	rest.lost = &Lost{
		About: h.lock.about(h.mode), Token: h.token, Cause: h.cause, How: how, Reason: losses[how].reason,
		Held: now.Since(h.validity.tenureStart),
	}
	if cleanUp {
		h.scheduleCleanupLocked(now)
	}
	return rest
}
