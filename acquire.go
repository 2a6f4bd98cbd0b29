package leasehold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// acquisition is one call that wants a lease: what it asks for, and how far it has come.
type acquisition struct {
	op           string
	mode         driver.Mode
	weight       int // permits; 0 for locks
	try          bool
	hasTurn      bool      // the call has the turn of the local queue; a hold that is granted takes it over (accept)
	began        time.Time // start of the call; zero until an observer needs it
	waitObserved bool      // a Waiting event was observed, and its end was not
	knownHeld    bool      // since the call began, the engine or a holder here has said that the name is held
	counted      bool      // a hold is counted among the leases of the client, instead of the call
	outageSince  time.Time // start of the engine's outage; zero if it has answered or was not asked yet
	joined       bool      // the engine has said that the name is held, and the call waits there
	waitReason   error     // why it waits, if the engine has said more than that
}

var (
	// errWaitLimit is the cause of a context that WaitLimit has ended.
	errWaitLimit = errors.New("wait limit")
	// errTryTimeout ends the context of a try that has waited too long for the answer to another caller of this
	// process.
	errTryTimeout = errors.New("time for a try")
	// errNotKnownHeld is part of the error of a call that ended before anybody had said that the name is held.
	errNotKnownHeld = errors.New("the engine has not said in time whether it is held")
)

// acquire gets a lease by re-entry, from the previous holder in this process, or from the engine.
func (l *lock) acquire(ctx context.Context, a *acquisition) (*Lease, error) {
	if l.err != nil {
		return nil, l.err
	}
	if o := &l.client.observers; a.began.IsZero() && (o.grant != nil || o.fail != nil) {
		a.began = time.Now()
	}
	lease, err := l.acquireOrReenter(ctx, a)
	if err != nil {
		l.endTurn(a)
		l.observeFailed(ctx, a, err)
		return nil, err
	}
	return lease, nil
}

func (l *lock) observeFailed(ctx context.Context, a *acquisition, err error) {
	for _, o := range l.client.observers.fail {
		o.ObserveFail(Failed{
			About: l.about(a.mode), Context: ctx, Err: err, Waited: time.Since(a.began), AfterWait: a.waitObserved,
		})
	}
}

// newGrantedLease creates the lease for a grant, and observes the grant.
func (l *lock) newGrantedLease(ctx context.Context, a *acquisition, g turnTransfer, handedOver bool) *Lease {
	g.hold.mu.Lock()
	lease := newLeaseLocked(ctx, g.hold, g.tenure, g.token)
	g.hold.mu.Unlock()
	for _, o := range l.client.observers.grant {
		o.ObserveGrant(Granted{
			About: l.about(a.mode), Context: ctx, Token: g.token, Waited: time.Since(a.began),
			HandedOver: handedOver, AfterWait: a.waitObserved,
		})
	}
	a.waitObserved = false
	return lease
}

func (l *lock) acquireOrReenter(ctx context.Context, a *acquisition) (*Lease, error) {
	c := l.client
	if err := l.callError(ctx, a.op, nil); err != nil {
		return nil, err // a caller who has given up gets nothing, even if the lock is free
	}
	if l.key.Kind == driver.Lock {
		if outer, ok := ctx.Value(l).(*Lease); ok {
			return outer.reenter(ctx, a)
		}
	}
	if err := c.countLeases(l, a.op, 1); err != nil {
		return nil, err
	}
	lease, err := l.acquireInTurn(ctx, a)
	if !a.counted {
		c.uncountLeases(1)
	}
	return lease, err
}

// acquireInTurn gets a lease from the local queue or from the engine. Who needs the turn of the local queue:
//
//	          an exclusive lock                    a read lock, permits
//	no try    waits for it                         waits for it, until the caller before has been answered
//	a try     waits, unless the name is held       asks without it: only the engine knows whether there is room
func (l *lock) acquireInTurn(ctx context.Context, a *acquisition) (*Lease, error) {
	c := l.client
	needsTurn := !a.try || a.mode == driver.Exclusive && l.key.Kind == driver.Lock
	a.hasTurn = a.hasTurn || needsTurn && c.queue.Try(l.key)
	mustWait := needsTurn && !a.hasTurn
	limit, cause := l.waitLimit, errWaitLimit
	if a.try {
		if limit, cause = 0, errTryTimeout; mustWait { // else it waits for one request only, which has a limit
			limit = c.requests.TimeFor(validFor(l.ttl))
		}
	}
	waiting, cancel := withTimeout(ctx, limit, cause)
	defer cancel()
	var lease *Lease
	var err error
	switch {
	case mustWait && a.try:
		err = l.tryForTurn(waiting, a)
	case mustWait:
		lease, err = l.waitForTurn(ctx, waiting, a)
	}
	if lease != nil || err != nil {
		return lease, err
	}
	h, err := l.acquireFromEngine(waiting, a)
	if err != nil {
		return nil, err
	}
	a.counted = true
	return l.newGrantedLease(ctx, a, turnTransfer{hold: h, tenure: h.tenure, token: h.token}, false), nil
}

// withTimeout returns a context that ends with ctx, or with that cause after limit. 0 is no limit.
func withTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, cause)
}

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
		case g.hold == nil:
			a.hasTurn, a.outageSince = true, g.outageSince
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
	a.hasTurn = turn.HasTurn
	switch callErr := l.callError(ctx, a.op, errNotKnownHeld); {
	case turn.Held && !turn.HasTurn:
		return l.newError(a.op, ErrHeld, nil)
	case turn.TooMany && callErr == nil:
		return l.tooManyWaitersError(a.op, "in this process")
	default:
		return callErr
	}
}

// endTurn ends the turn of a call that has failed, if it has the turn.
func (l *lock) endTurn(a *acquisition) {
	if a.hasTurn && (a.outageSince.IsZero() || !l.passOutage(a.outageSince)) {
		l.client.queue.EndTurn(l.key)
	}
}

// passOutage ends a turn, and tells the next caller since when the engine has not answered. Otherwise each caller would
// wait for the same outage from its beginning. It reports false if nobody can be told.
func (l *lock) passOutage(since time.Time) bool {
	give := func(turnRequest) (turnTransfer, bool) { return turnTransfer{outageSince: since}, true }
	return l.client.queue.PassTurn(l.key, give)
}

// unlessKnownHeld returns nil if it is known that the name is held, and err otherwise.
func (a *acquisition) unlessKnownHeld(err error) error {
	if a.knownHeld {
		return nil
	}
	return err
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

// tooManyWaitersError returns the error of a caller that a queue has no room for.
func (l *lock) tooManyWaitersError(op, where string) error {
	return l.newError(op, ErrTooManyWaiters, fmt.Errorf("they wait %s, and WithMaxWaiters allows no more than %d: "+
		"find out who holds it for so long, or why so many want it, or raise the limit", where, l.client.maxWaiters))
}

// acquireFromEngine asks the engine until it grants or the call ends. This is what follows an error of Take or Wait,
// and whether the owner is cleaned up if the call ends there. The marks are those of driver/errors.go.
//
//	error                           next, if the call goes on      clean-up, if it ends
//	ErrHeld                         Wait; a try ends               yes, the owner has joined; not for a try
//	ErrTooManyWaiters, Permanent    the call always ends           if an earlier request may have had an effect
//	NoEffect                        Take                           likewise
//	Spent and NoEffect              Take with a fresh owner        likewise, and if the call goes on, too
//	Spent, or a grant came late     Take with a fresh owner        yes, and if the call goes on, too
//	without a mark, as no answer    Take                           yes
//
// A fresh owner has the place of the one before in the queue. Whether the call goes on: see endOfCall.
func (l *lock) acquireFromEngine(ctx context.Context, a *acquisition) (*hold, error) {
	c := l.client
	h := newHold(l, a)
	r := h.takeRequest(a.hasTurn)
	r.Join, r.MaxWaiters = !a.try, c.maxWaiters
	for failures := 1; ; failures++ {
		g, err := h.take(ctx, r)
		if errors.Is(err, driver.ErrHeld) {
			a.knownHeld, a.outageSince = true, time.Time{}
			if a.hasTurn {
				c.queue.SetHeld(l.key, true)
			}
			if !a.try {
				failures = 1
				r.MaxWaiters = 0 // a waiter that has a place in the queue keeps it
				g, err = l.waitWhileHeld(ctx, a, h, r, err)
			}
		}
		if err == nil {
			if err = h.accept(g, g.Start, a.hasTurn); err == nil {
				return h, nil
			}
			err = driver.Spent(err) // a grant that came too late is released
		}
		if callErr := l.endOfCall(ctx, a, err); callErr != nil {
			h.cleanUp()
			return nil, callErr
		}
		if a.hasTurn {
			c.queue.SetHeld(l.key, false)
		}
		if driver.IsSpent(err) {
			h.cleanUp()
			spent := h
			h = newHold(l, a)
			h.place, r.Owner = spent.place, h.owner
		}
		c.waitBeforeRetry(ctx, failures)
	}
}

// waitWhileHeld waits on the engine for as long as it says that the name is held. Wait says so again if the reason has
// changed.
func (l *lock) waitWhileHeld(
	ctx context.Context, a *acquisition, h *hold, r driver.Request, err error,
) (g driver.Grant, _ error) {
	for errors.Is(err, driver.ErrHeld) {
		reason := heldReason(err)
		if !a.joined || (reason == nil) != (a.waitReason == nil) {
			l.observeWaiting(ctx, a, Waiting{Reason: reason})
		}
		a.joined, a.waitReason = true, reason
		g, err = h.wait(ctx, r)
	}
	return g, err
}

// endOfCall returns the error that ends a call after the engine has answered err, or nil if the call goes on. It goes
// on if the name is known to be held, so that the caller is a waiter, here or in the local queue, and the engine has
// not failed for longer than one ttl.
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
	case isHeld: // a try
		return l.newError(a.op, ErrHeld, heldReason(err))
	case tooMany:
		return l.tooManyWaitersError(a.op, "on the engine")
	case !a.knownHeld || driver.IsPermanent(err) || time.Since(a.outageSince) > l.ttl:
		sentinel, cause := fromEngine(err)
		return l.newError(a.op, sentinel, cause)
	}
	return nil
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

// takeRequest returns the request that takes the lock for the owner without waiting.
func (h *hold) takeRequest(hasTurn bool) driver.Request {
	l := h.lock
	r := driver.Request{
		Key: l.key, Owner: h.owner, Place: h.place, Mode: h.requestedMode, Size: l.size, Weight: h.weight, TTL: l.ttl,
		Tokens: 1, Holder: l.holder,
	}
	if hasTurn && l.isPlain() {
		r.Tokens += min(l.client.queue.Waiting(l.key), l.client.maxReservedTokens)
	}
	return r
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
