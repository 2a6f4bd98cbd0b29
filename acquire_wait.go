package leasehold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// What a call does only if it waits, asks again or fails. The rest is in acquire.go.

var (
	// errWaitLimit is the cause of a context that WaitLimit has ended.
	errWaitLimit = errors.New("wait limit")
	// errTryTimeout ends the context of a try that has waited too long for the answer to another caller of this
	// process.
	errTryTimeout = errors.New("time for a try")
	// errNotKnownHeld is part of the error of a call that ended before anybody had said that the name is held.
	errNotKnownHeld = errors.New("the engine has not said in time whether it is held")
)

// waitForTurn waits in the local queue. It returns a lease if the previous holder has handed its hold over. It returns
// neither a lease nor an error if it is the caller's turn to ask the engine.
func (l *lock) waitForTurn(ctx, waiting context.Context, a *acquisition) (*Lease, error) {
	c := l.client
	for maxWaiters := c.maxWaiters; ; maxWaiters = 0 { // a caller that has waited is not refused later
		l.observeWaiting(ctx, a, Waiting{Local: true})
		turn := c.queue.Wait(waiting, c.lifetime.Done(), l.key, maxWaiters, l.turnRequest(a))
		a.knownHeld = a.knownHeld || turn.Held
		callErr := l.callError(waiting, a.op, a.unlessKnownHeld(errNotKnownHeld))
		g := turn.Value
		switch {
		case turn.TooMany && callErr == nil:
			return nil, l.tooManyWaitersError(a.op, "in this process")
		case !turn.HasTurn:
			return nil, callErr
		case g.hold == nil || g.parked:
			a.hasTurn, a.outageSince, a.parked = true, g.outageSince, g.hold
			return nil, callErr
		}
		lease := l.newGrantedLease(ctx, a, g, true)
		if callErr != nil {
			lease.Release()
			return nil, callErr
		}
		// The lease was valid when it was handed over, but time may have passed until this goroutine ran.
		if g.hold.checkHeld() {
			return lease, nil
		}
		lease.Release()
	}
}

// tryForTurn waits until the caller of this process that has the turn knows that the name is held, and then returns
// ErrHeld. That the other caller is still asking is no answer. It returns nil if it is the caller's turn to ask the
// engine.
func (l *lock) tryForTurn(ctx context.Context, a *acquisition) error {
	turn := l.client.queue.WaitUnlessHeld(ctx, l.client.lifetime.Done(), l.key, l.client.maxWaiters)
	a.hasTurn, a.parked = turn.HasTurn, turn.Value.hold
	switch callErr := l.callError(ctx, a.op, errNotKnownHeld); {
	case turn.Held && !turn.HasTurn:
		return l.newError(a.op, ErrHeld, nil)
	case turn.TooMany && callErr == nil:
		return l.tooManyWaitersError(a.op, "in this process")
	default:
		return callErr
	}
}

// endTurn ends the turn of a call that has failed, if it has the turn. The next caller is told since when the engine
// has not answered. Otherwise each caller would wait for the same outage from its beginning. A parked hold goes back.
func (l *lock) endTurn(a *acquisition) {
	if a.parked != nil {
		a.parked.putBack()
		return
	}
	since := a.outageSince
	give := func(turnRequest) (turnTransfer, bool) { return turnTransfer{outageSince: since}, true }
	if a.hasTurn && (since.IsZero() || !l.client.queue.PassTurn(l.key, give)) {
		l.client.queue.EndTurn(l.key)
	}
}

// recallLimit limits how long a try waits for a lock that was recalled. If it is idle, its holder lets go in the time
// of a request; if it is in use, the holder says so as quickly.
const recallLimit = 500 * time.Millisecond

// waitForRecall joins the queue, so that the engine recalls the lock from a holder who may be idle, and waits until
// that is known. It returns ErrHeld if the lock is in use, or nobody has answered. A try that began then takes no
// longer than one request may. It also ends as held if this fails: see endOfCall.
func (h *hold) waitForRecall(ctx context.Context, r driver.Request, began time.Time) (driver.Grant, error) {
	c := h.lock.client
	limit := min(recallLimit, c.requests.TimeFor(validFor(r.TTL))-time.Since(began))
	if limit <= 0 {
		return driver.Grant{}, driver.ErrHeld
	}
	limited, cancel := withTimeout(ctx, limit, errTryTimeout)
	defer cancel()
	r.Join, r.Probe, r.MaxWaiters = true, true, c.maxWaiters
	g, err := h.take(limited, r, new(afterUnlock))
	if errors.Is(err, driver.ErrHeld) {
		g, err = h.wait(limited, r)
	}
	timedOut := err != nil && errors.Is(context.Cause(limited), errTryTimeout)
	if timedOut || errors.Is(err, driver.ErrTooManyWaiters) {
		err = driver.ErrHeld // as the engine has said before
	}
	return g, err
}

// lingers reports whether an ErrHeld of the engine says that the holder may be idle, and can be asked to let go.
func lingers(held error) bool {
	e, ok := errors.AsType[*driver.HeldError](held)
	return ok && e.Lingers
}

// waitWhileHeld waits on the engine for as long as it says that the name is held. Wait says so again if the reason has
// changed.
func (h *hold) waitWhileHeld(ctx context.Context, a *acquisition, r driver.Request, err error) (driver.Grant, error) {
	var g driver.Grant
	for errors.Is(err, driver.ErrHeld) {
		reason := heldReason(err)
		if !a.joined || (reason == nil) != (a.waitReason == nil) {
			h.lock.observeWaiting(ctx, a, Waiting{Reason: reason})
		}
		a.joined, a.waitReason = true, reason
		g, err = h.wait(ctx, r)
	}
	return g, err
}

// endOfCall returns the error that ends a call after the engine has answered err, or nil if the call goes on. It goes
// on if the name is known to be held, so that the caller is a waiter, here or in the local queue, and the engine has
// not failed for longer than one ttl. A try never goes on. It ends as held if the engine has said so before it failed.
func (l *lock) endOfCall(ctx context.Context, a *acquisition, err error) error {
	a.knownHeld = a.knownHeld || driver.IsKnownHeld(err)
	isHeld, tooMany := errors.Is(err, driver.ErrHeld), errors.Is(err, driver.ErrTooManyWaiters)
	if a.outageSince.IsZero() && !isHeld && !tooMany {
		a.outageSince = time.Now()
	}
	callErr := withReason(l.callError(ctx, a.op, a.unlessKnownHeld(errNotKnownHeld)), a.waitReason)
	switch {
	case callErr != nil:
		return callErr
	case a.try && a.knownHeld && !driver.IsPermanent(err):
		return l.newError(a.op, ErrHeld, heldReason(err))
	case tooMany:
		return l.tooManyWaitersError(a.op, "on the engine")
	case !a.knownHeld || driver.IsPermanent(err) || time.Since(a.outageSince) > l.ttl:
		sentinel, cause := fromEngine(err)
		return l.newError(a.op, sentinel, cause)
	}
	return nil
}

// callError returns the error of a call whose context has ended or whose client is closed. It returns nil if neither is
// so, or if a try has ended and the name is known to be held: the caller then returns ErrHeld.
//
// notKnown is nil if the name is known to be held, and otherwise says why that is not known. Then the error is an
// ErrUnavailable, and not an ErrTimeout.
func (l *lock) callError(ctx context.Context, op string, notKnown error) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil && l.client.lifetime.Err() == nil: // the call may go on
		return nil
	case l.client.lifetime.Err() != nil && (err == nil || errors.Is(cause, ErrClosed)):
		return l.newError(op, ErrClosed, nil)
	case errors.Is(cause, errTryTimeout) && notKnown == nil:
		return nil
	case errors.Is(cause, errTryTimeout), errors.Is(cause, errWaitLimit) && notKnown != nil:
		return l.newError(op, ErrUnavailable, notKnown)
	case errors.Is(cause, errWaitLimit):
		return l.newError(op, ErrTimeout, nil)
	}
	// The caller's own context has ended. If that was its deadline, the cause also says that there was no answer.
	if notKnown != nil && errors.Is(err, context.DeadlineExceeded) {
		if cause == err {
			cause = fmt.Errorf("%w: %w", ErrUnavailable, notKnown)
		} else {
			cause = fmt.Errorf("%w: %w: %w", cause, ErrUnavailable, notKnown)
		}
	}
	return l.newError(op, err, cause)
}

// unlessKnownHeld returns nil if it is known that the name is held, and err otherwise.
func (a *acquisition) unlessKnownHeld(err error) error {
	if a.knownHeld {
		return nil
	}
	return err
}

// tooManyWaitersError returns the error of a caller that a queue has no room for.
func (l *lock) tooManyWaitersError(op, where string) error {
	return l.newError(op, ErrTooManyWaiters, fmt.Errorf("they wait %s, and WithMaxWaiters allows no more than %d: "+
		"find out who holds it for so long, or why so many want it, or raise the limit", where, l.client.maxWaiters))
}

// heldReason returns an ErrHeld of the engine if it says more than that the name is held, and nil otherwise.
func heldReason(held error) error {
	if _, only := held.(*driver.HeldError); only || held == driver.ErrHeld {
		return nil
	}
	return held
}

// withReason makes the reason of a wait the cause of the error that ended it, unless that error has a cause of its own.
func withReason(callErr, reason error) error {
	if e, ok := errors.AsType[*Error](callErr); ok && reason != nil && (e.Cause == nil || e.Cause == e.Err) {
		e.Cause = reason
	}
	return callErr
}

// waitBeforeRetry waits before a request is sent again. The wait is random, so that many callers do not come back at
// the same moment, and grows with the failures up to a second.
func (c *Client) waitBeforeRetry(ctx context.Context, failures int) {
	t := time.NewTimer(c.pause(25*time.Millisecond, failures, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-c.lifetime.Done():
	}
}

// pause returns how long to wait after that many failures: first, doubled with each failure after the first one, and at
// most limit; of that a random part, at least half.
func (c *Client) pause(first time.Duration, failures int, limit time.Duration) time.Duration {
	d := min(first<<min(max(failures-1, 0), 16), limit)
	return d/2 + time.Duration(c.random(int64(d/2+1)))
}

func (l *lock) observeWaiting(ctx context.Context, a *acquisition, event Waiting) {
	if l.client.observers.wait == nil {
		return
	}
	event.About, event.Context, event.Again = l.about(a.mode), ctx, a.waitObserved
	a.waitObserved = true
	for _, o := range l.client.observers.wait {
		o.ObserveWait(event)
	}
}

func (l *lock) observeFailed(ctx context.Context, a *acquisition, err error) {
	for _, o := range l.client.observers.fail {
		o.ObserveFail(Failed{
			About: l.about(a.mode), Context: ctx, Err: err, Waited: time.Since(a.began), AfterWait: a.waitObserved,
		})
	}
}
