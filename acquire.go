package leasehold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// ask is what one call asks for.
type ask struct {
	op     string
	mode   driver.Mode
	weight int // permits; 0 for locks
	try    bool
	turn   bool      // has the turn of the local queue already
	began  time.Time // zero: now; only observers want to know
	told   bool      // observers were told that it waits, and not yet that it does not any more
	heard  bool      // somebody has said since the call began that it is held: the engine, or the holder in this process
	kept   bool      // a hold counts among the leases of the client in place of the call
	outage time.Time // since when the engine has not answered; zero if it has, or was not asked yet
}

var (
	// errWaitLimit is the cause of a context that WaitLimit has ended.
	errWaitLimit = errors.New("wait limit")
	// errTryLimit is the cause of the context of a try that has waited for what another caller of this process hears.
	errTryLimit = errors.New("time for a try")
	// errUnheard lies behind the error of a call whose time was up before anybody had said that it is held.
	errUnheard = errors.New("the engine has not said in time whether it is held")
)

// acquire gets a lease: by re-entry, from the holder before in this process, or
// from the engine.
func (l *lock) acquire(ctx context.Context, a *ask) (*Lease, error) {
	if l.err != nil {
		return nil, l.err
	}
	if o := &l.client.observers; a.began.IsZero() && (o.grant != nil || o.fail != nil) {
		a.began = time.Now()
	}
	lease, err := l.find(ctx, a)
	if err != nil {
		l.tellFailed(ctx, a, err)
		return nil, err
	}
	return lease, nil
}

func (l *lock) tellFailed(ctx context.Context, a *ask, err error) {
	for _, o := range l.client.observers.fail {
		o.ObserveFail(Failed{About: l.about(a.mode), Context: ctx, Err: err, Waited: time.Since(a.began), AfterWait: a.told})
	}
}

// granted makes a lease of what was granted, and tells the observers.
func (l *lock) granted(ctx context.Context, a *ask, g gift, handedOver bool) *Lease {
	g.hold.mu.Lock()
	lease := newLease(ctx, g.hold, g.tenure, g.token)
	g.hold.mu.Unlock()
	for _, o := range l.client.observers.grant {
		o.ObserveGrant(Granted{
			About: l.about(a.mode), Context: ctx, Token: g.token, Waited: time.Since(a.began), HandedOver: handedOver, AfterWait: a.told,
		})
	}
	a.told = false
	return lease
}

func (l *lock) find(ctx context.Context, a *ask) (*Lease, error) {
	c := l.client
	if err := l.ended(ctx, a.op, nil); err != nil {
		if a.turn {
			c.queue.Done(l.key)
		}
		return nil, err // a caller who has given up gets nothing, even if it is free
	}
	if l.key.Kind == driver.Lock {
		if outer, ok := ctx.Value(l).(*Lease); ok {
			return outer.again(ctx, a)
		}
	}
	if err := c.begins(l, a.op, 1); err != nil {
		if a.turn {
			c.queue.Done(l.key)
		}
		return nil, err
	}
	lease, err := l.get(ctx, a)
	if !a.kept {
		c.ends(1)
	}
	return lease, err
}

// get gets a lease in the queue of this process, or from the engine.
func (l *lock) get(ctx context.Context, a *ask) (*Lease, error) {
	c := l.client
	waiting := ctx
	if !a.try {
		var cancel context.CancelFunc
		waiting, cancel = l.patience(ctx)
		defer cancel()
	}

	// A try for something that others of this process may hold too does not ask
	// them: only the engine knows.
	queued := !a.try || a.mode == driver.Exclusive && l.key.Kind == driver.Lock
	if queued && !a.turn && !c.queue.Try(l.key) {
		if a.try {
			var cancel context.CancelFunc
			waiting, cancel = context.WithTimeoutCause(ctx, c.limit(validity(l.ttl)), errTryLimit)
			defer cancel()
			if err := l.look(waiting, a); err != nil {
				return nil, err
			}
		} else if lease, err := l.line(ctx, waiting, a); lease != nil || err != nil {
			return lease, err
		}
	}
	h, err := l.ask(waiting, a, queued)
	if err != nil {
		if queued {
			l.turnOver(a)
		}
		return nil, err
	}
	a.kept = true
	return l.granted(ctx, a, gift{hold: h, tenure: h.tenure, token: h.token}, false), nil
}

// patience returns ctx with the wait limit, if there is one.
func (l *lock) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.waitLimit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, l.waitLimit, errWaitLimit)
}

// line waits in the queue of this process. It returns a lease if the holder before has handed its own
// over, and nothing at all if it is the caller's turn to ask the engine.
func (l *lock) line(ctx, waiting context.Context, a *ask) (*Lease, error) {
	c := l.client
	for most := c.maxWaiters; ; most = 0 { // who has waited once is not sent away any more
		l.tellWaits(ctx, a, Waiting{Local: true})
		turn := c.queue.Wait(waiting, c.life.Done(), l.key, most, l.want(a))
		a.heard = a.heard || turn.Held
		over := l.ended(waiting, a.op, a.unheard(errUnheard))
		g := turn.Gift
		switch {
		case turn.Full && over == nil:
			return nil, l.crowdedHere(a.op)
		case !turn.Mine:
			return nil, over
		case g.hold == nil:
			a.outage = g.outage
			if over != nil {
				l.turnOver(a)
			}
			return nil, over
		}
		lease := l.granted(ctx, a, g, true)
		if over != nil {
			lease.Release()
			return nil, over
		}
		// The one before gave it in good faith, but time may have passed until this goroutine ran.
		if g.hold.check() {
			return lease, nil
		}
		lease.Release()
	}
}

// look waits until somebody in the queue of this process knows that it is held, and returns ErrHeld then; that somebody asks is no answer. It returns
// nothing if it is the caller's turn to ask the engine.
func (l *lock) look(ctx context.Context, a *ask) error {
	turn := l.client.queue.WaitUnlessHeld(ctx, l.client.life.Done(), l.key, l.client.maxWaiters)
	switch over := l.ended(ctx, a.op, errUnheard); {
	case turn.Held && !turn.Mine:
		return l.failure(a.op, ErrHeld, nil)
	case turn.Full && over == nil:
		return l.crowdedHere(a.op)
	case over != nil && turn.Mine:
		l.client.queue.Done(l.key)
		return over
	default:
		return over
	}
}

// turnOver ends the caller's turn in the queue of this process. The next one goes on where this one has come to: each would
// else bear with the same outage from its beginning.
func (l *lock) turnOver(a *ask) {
	queue := &l.client.queue
	if a.outage.IsZero() || !queue.Pass(l.key, func(want) (gift, bool) { return gift{outage: a.outage}, true }) {
		queue.Done(l.key)
	}
}

// learned takes in that the engine says that it is held.
func (l *lock) learned(a *ask, turn bool) {
	a.heard, a.outage = true, time.Time{}
	if turn {
		l.client.queue.SetHeld(l.key, true)
	}
}

// unheard returns why it is not known that it is held, or nil if that is known.
func (a *ask) unheard(why error) error {
	if a.heard {
		return nil
	}
	return why
}

// ended returns the error for a call whose context has ended or whose client is closed. If nobody has told the caller that it is held, that
// is unknown, for the reason unheard: no answer is not taken for one.
func (l *lock) ended(ctx context.Context, op string, unheard error) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == nil && l.client.life.Err() == nil:
		return nil
	case l.client.life.Err() != nil && (err == nil || errors.Is(cause, ErrClosed)):
		return l.failure(op, ErrClosed, nil)
	case errors.Is(cause, errTryLimit) && unheard == nil:
		return nil
	case errors.Is(cause, errTryLimit), errors.Is(cause, errWaitLimit) && unheard != nil:
		return l.failure(op, ErrUnavailable, unheard)
	case errors.Is(cause, errWaitLimit):
		return l.failure(op, ErrTimeout, nil)
	case unheard == nil || !errors.Is(err, context.DeadlineExceeded):
	case cause == err:
		cause = fmt.Errorf("%w: %w", ErrUnavailable, unheard)
	default:
		cause = fmt.Errorf("%w: %w: %w", cause, ErrUnavailable, unheard)
	}
	return l.failure(op, err, cause)
}

// ask asks the engine until it says yes or there is no point any more. It does so as one owner for as long as no
// release has named that one, and then as another, at the same place in the queue.
func (l *lock) ask(ctx context.Context, a *ask, turn bool) (*hold, error) {
	c := l.client
	h := newHold(l, a, turn)
	r := h.request()
	r.Join, r.Waiters = !a.try, c.maxWaiters
	var (
		answered bool  // the engine has answered here
		reason   error // why it waits, if the engine says more than that it is held
		touched  bool  // it may have something of this owner
		failures int
	)
	for {
		start := driver.Now()
		g, err := h.take(ctx, r)
		touched = touched || !driver.HadNoEffect(err)
		if errors.Is(err, driver.ErrHeld) {
			l.learned(a, turn)
			if a.try {
				if over := l.ended(ctx, a.op, nil); over != nil {
					return nil, over
				}
				return nil, l.failure(a.op, ErrHeld, beyond(err))
			}
			if !answered {
				reason = beyond(err)
				l.tellWaits(ctx, a, Waiting{Reason: reason})
			}
			answered, touched, failures = true, true, 0
			r.Waiters = 0 // who has a place in the queue keeps it
			g, err = h.wait(ctx, r)
		}
		if !g.Start.IsZero() {
			start = g.Start
		}
		if err == nil {
			if err = h.admit(g, start); err == nil {
				return h, nil
			}
			err = driver.Spent(err) // what came too late is released
		}
		crowded := errors.Is(err, driver.ErrCrowded)
		if a.outage.IsZero() && !crowded {
			a.outage = time.Now()
		}
		over := because(l.ended(ctx, a.op, a.unheard(errUnheard)), reason)
		switch {
		case over != nil:
		case crowded:
			over = l.crowded(a.op, errors.New("they wait on the engine"))
		case !a.heard || driver.IsPermanent(err) || time.Since(a.outage) > l.ttl:
			over = l.failure(a.op, ErrUnavailable, err)
		default:
			// A caller who already waits its turn, here or in the queue of this process, rides out an outage of up to one ttl.
			failures++
			if turn {
				c.queue.SetHeld(l.key, false)
			}
			if driver.IsSpent(err) {
				next := h.successor(a)
				if touched {
					h.abandon()
				}
				h, touched = next, false
				r.Owner = h.owner
			}
			c.pause(ctx, failures)
			continue
		}
		if touched {
			h.abandon()
		}
		return nil, over
	}
}

// tellWaits tells of the beginning of a wait.
func (l *lock) tellWaits(ctx context.Context, a *ask, event Waiting) {
	if l.client.observers.wait == nil {
		return
	}
	event.About, event.Context, event.Again = l.about(a.mode), ctx, a.told
	a.told = true
	for _, o := range l.client.observers.wait {
		o.ObserveWait(event)
	}
}

// beyond returns an ErrHeld of the engine if it says more than that.
func beyond(held error) error {
	if _, only := held.(*driver.HeldError); only || held == driver.ErrHeld {
		return nil
	}
	return held
}

// because adds the reason for a wait to the error that ended it, unless that has a cause of its own.
func because(over, reason error) error {
	if e, ok := errors.AsType[*Error](over); ok && reason != nil && (e.Cause == nil || e.Cause == e.Err) {
		e.Cause = reason
	}
	return over
}

// request is what the owner asks for, without waiting for it.
func (h *hold) request() driver.Request {
	l := h.lock
	r := driver.Request{Key: l.key, Owner: h.owner, Place: h.place, Mode: h.asked, Size: l.size, Weight: h.weight, TTL: l.ttl, Tokens: 1, Holder: l.holder}
	if h.turn && l.plain() {
		r.Tokens += min(l.client.queue.Waiting(l.key), l.client.handOver)
	}
	return r
}

// pause waits before a request is tried again: randomly, so that many callers do not
// come back at the same moment, and longer each time, up to a second.
func (c *Client) pause(ctx context.Context, failures int) {
	t := time.NewTimer(c.jitter(backoff(25*time.Millisecond, failures, time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-c.life.Done():
	}
}

// backoff doubles first with each failure after the first, up to most.
func backoff(first time.Duration, failures int, most time.Duration) time.Duration {
	return min(first<<min(max(failures-1, 0), 16), most)
}

// jitter returns a random time between half of d and d.
func (c *Client) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(c.random(int64(d/2+1)))
}
