package leasehold

import (
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Release ends the lease. It does not depend on any context and takes no longer than a request may. It may be called
// again, and then returns the same.
//
// It returns nil if the lock was held to the end. It returns ErrLost, ErrMaxHold or ErrClosed if the lease
// had ended before, so that the end of the work was not protected. It returns ErrUnknown if the engine did
// not confirm: the lease has ended then as well, and the release is repeated in the background.
func (l *Lease) Release() error {
	l.releaseOnce.Do(func() {
		l.releaseErr = l.releaseOne()
	})
	return l.releaseErr
}

// releaseOne releases one lease. The last one of a tenure ends the tenure.
func (l *Lease) releaseOne() error {
	h := l.hold
	h.checkHeld()
	h.mu.Lock()
	rest := l.releaseOneLocked()
	h.mu.Unlock()
	return rest.finish()
}

func (l *Lease) releaseOneLocked() releaseRest {
	h := l.hold
	h.unwatchLeaseLocked(l)
	h.handles.Add(-1) // with hold.mu locked, so that the renewer does not take the hold for a dropped one
	l.lastDeadline = h.deadlineLocked()
	if err := l.errLocked(); err != nil {
		return releaseRest{hold: h, err: h.lock.newError("release", err, nil), after: doNothing}
	}
	if h.openLeases--; h.openLeases > 0 {
		l.released = true
		rest := releaseRest{hold: h, after: doNothing}
		if end := l.contextEnd; end != nil {
			h.contextEnds = slices.DeleteFunc(h.contextEnds, func(e *contextEnd) bool { return e == end })
			rest.after = func() { end.cancel(ErrReleased) }
		}
		return rest
	}
	rest := releaseRest{hold: h, after: doNothing, observe: true, event: h.releaseEventLocked()}
	ends := h.contextEnds
	if !h.handOverLocked() {
		return h.releaseLocked(ErrReleased)
	}
	if len(ends) > 0 {
		rest.after = func() {
			for _, e := range ends {
				e.cancel(ErrReleased)
			}
		}
	}
	return rest
}

// releaseRest is what a release still has to do once the hold is unlocked. It is a struct rather than a function,
// because releases are frequent and a struct needs no allocation.
type releaseRest struct {
	hold    *hold
	after   func() // cancels contexts
	err     error  // the lease had ended before
	event   Released
	observe bool // a tenure has ended: observe the event
	send    bool // the hold has ended: send the request
	silent  bool // do not send it: the engine is known not to answer
	request driver.Release
	hadTurn bool
}

// finish does the rest of Release, without the mutex, and returns what Release returns.
func (r *releaseRest) finish() error {
	r.after()
	if r.send {
		r.err = r.sendRequest()
	}
	if r.observe {
		r.event.Err = r.err
		for _, o := range r.hold.lock.client.observers.release {
			o.ObserveRelease(r.event)
		}
	}
	return r.err
}

// sendRequest asks the engine to release the hold, and ends the turn when the engine has answered.
func (r *releaseRest) sendRequest() error {
	l := r.hold.lock
	queue := &l.client.queue
	if r.hadTurn {
		queue.SetHeld(l.key, false)
	}
	err := timelimit.ErrNoAnswer
	if !r.silent {
		err = r.hold.releaseOrCleanUp(r.request)
	}
	if r.hadTurn {
		queue.EndTurn(l.key)
	}
	switch {
	case driver.IsNo(err):
		return l.newError("release", ErrLost, nil)
	case err != nil:
		return l.newError("release", ErrUnknown, err)
	}
	return nil
}

// releaseEventLocked returns the event of a release that is about to happen.
func (h *hold) releaseEventLocked() (event Released) {
	if h.lock.client.observers.release != nil {
		event = Released{About: h.lock.about(h.mode), Token: h.token, Held: time.Since(h.tenureStart.Time())}
	}
	return event
}

// releaseLocked ends the hold; what it returns tells the engine. The renewer forgets the hold before the request is
// sent, so no renewal is begun after that.
func (h *hold) releaseLocked(cause error) releaseRest {
	r := releaseRest{
		hold: h, observe: true, event: h.releaseEventLocked(),
		send: true, request: h.releaseRequestLocked(h.keepForLocked()), hadTurn: h.hasTurn,
	}
	h.hasTurn = false // sendRequest ends the turn when the engine has answered: before, others would ask in vain
	r.after = h.endLocked(cause)
	return r
}

// keepForLocked returns how long AtLeast still keeps the lock taken.
func (h *hold) keepForLocked() time.Duration {
	if h.lock.atLeast == 0 || h.token == 0 { // a hold without a token was never granted to anybody
		return 0
	}
	return max(h.lock.atLeast-time.Since(h.tenureStart.Time()), 0)
}
