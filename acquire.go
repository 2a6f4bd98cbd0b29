package leasehold

import (
	"context"
	"errors"
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
	parked       *hold     // a hold that came along with the turn; see idle.go
	tokens       int       // how many tokens to ask for if the hold may linger; 0 is firstTokenRange
}

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
	}
	return lease, err
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
	if needsTurn && !a.hasTurn { // LockAll may have taken it
		turn := c.queue.Try(l.key)
		a.hasTurn, a.parked = turn.HasTurn, turn.Value.hold
	}
	mustWait := needsTurn && !a.hasTurn
	limit, cause := l.waitLimit, errWaitLimit
	if a.try {
		// Others wait for one request only, which has a limit.
		if limit, cause = 0, errTryTimeout; mustWait || a.parked != nil {
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
	var before afterUnlock
	if h := a.parked; h != nil {
		a.parked = nil
		if g, ok := h.reuse(l.turnRequest(a)); ok {
			return l.newGrantedLease(ctx, a, g, true), nil
		}
		before, a.tokens = h.follow()
		c.queue.SetHeld(l.key, false) // a try of this process waits for the outcome
	}
	h, err := l.acquireFromEngine(waiting, a, before)
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

// acquireFromEngine asks the engine until it grants or the call ends: see endOfCall. This is what follows an error of
// Take or Wait. "If needed" means: if an earlier request may have had an effect.
//
//	error (see driver/errors.go)    if the call ends               if it goes on
//	ErrHeld                         clean-up; a try: if needed     Wait
//	ErrTooManyWaiters, Permanent    clean-up, if needed
//	NoEffect                        clean-up, if needed            Take
//	Spent and NoEffect              clean-up, if needed            the same, and Take with a fresh owner
//	Spent, or a grant came late     clean-up                       clean-up, and Take with a fresh owner
//	without a mark, as no answer    clean-up                       Take
//
// A fresh owner has the place of the one before in the queue.
//
// before is the release of a hold of this client that was parked. It goes first.
func (l *lock) acquireFromEngine(ctx context.Context, a *acquisition, before afterUnlock) (*hold, error) {
	c := l.client
	h := newHold(l, a)
	r := h.takeRequest(a.hasTurn)
	r.Join, r.MaxWaiters = !a.try, c.maxWaiters
	h.lingerRequest(&r, a)
	began := time.Now()
	for failures := 1; ; failures++ {
		g, err := h.take(ctx, r, &before)
		before = afterUnlock{}
		if errors.Is(err, driver.ErrHeld) {
			a.knownHeld, a.outageSince = true, time.Time{}
			if a.hasTurn {
				c.queue.SetHeld(l.key, true)
			}
			switch {
			case !a.try:
				failures = 1
				r.MaxWaiters = 0 // a waiter that has a place in the queue keeps it
				g, err = h.waitWhileHeld(ctx, a, r, err)
			case lingers(err):
				g, err = h.waitForRecall(ctx, r, began)
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
			c.queue.SetHeld(l.key, false) // nobody knows; other tries wait for the next answer
		}
		if driver.IsSpent(err) {
			h.cleanUp()
			spent := h
			h = newHold(l, a)
			h.place, r.Owner = spent.place, h.owner
			h.lingerRequest(&r, a)
		}
		c.waitBeforeRetry(ctx, failures)
	}
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
