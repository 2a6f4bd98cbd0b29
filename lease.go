package leasehold

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Lease is a lock that was granted. It stays valid for as long as it is renewed, which the
// client does by itself, until it is released or lost. An ended lease stays ended: it never comes
// back.
//
// A lease that is dropped (garbage collected, along with its context) without having been released
// is no longer renewed, so that the lock becomes free after its ttl; that is logged. Who keeps nothing but the channel of
// Context().Done() has dropped it.
type Lease struct {
	hold   *hold
	tenure uint32
	token  uint64
	parent context.Context

	release sync.Once
	result  error // of the release
	derive  sync.Once
	ctx     context.Context

	// Under the mutex of the hold:
	left    bool      // released, while others of the tenure are not
	last    time.Time // the deadline when it was released
	ending  *ending
	cleanup runtime.Cleanup
}

// newLease makes one more lease of a hold. hold.mu is held.
func newLease(parent context.Context, h *hold, tenure uint32, token uint64) *Lease {
	l := &Lease{hold: h, tenure: tenure, token: token, parent: parent}
	h.young = append(h.young, l)
	return l
}

// watch has the garbage collector tell of leases that are dropped. Until the first renewal the hold itself holds on to them, because
// most leases are released before, and it costs as much as all else of a lease. mu is held.
func (h *hold) watch() {
	for _, l := range h.young {
		l.cleanup = runtime.AddCleanup(l, drop, h)
	}
	h.young, h.alone[0] = nil, nil // or the hold would still hold on to the first
}

// unwatch undoes watch for a lease that is released. mu is held.
func (h *hold) unwatch(l *Lease) {
	if at := slices.Index(h.young, l); at >= 0 {
		h.young = slices.Delete(h.young, at, at+1)
		return
	}
	l.cleanup.Stop()
}

// drop runs when a lease was garbage collected without release. It only leaves a note, which the
// renewer finds: it may run at any time, outside of any test's bubble of virtual time.
func drop(h *hold) { h.handles.Add(-1) }

// Name returns the name that is locked.
func (l *Lease) Name() string { return l.hold.lock.key.Name }

// Token returns the fencing token: larger than that of every earlier grant of the name, below
// 2^53, never zero. Send it with each write, and let the resource refuse a token that is smaller
// than one it has seen.
func (l *Lease) Token() uint64 { return l.token }

// Deadline returns until when nobody else holds the name, if nothing more is heard from
// the engine. It moves forward with each renewal. For a lease that has ended it returns the last
// deadline it had.
func (l *Lease) Deadline() time.Time {
	h := l.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.left || h.tenure != l.tenure {
		return l.last
	}
	return h.deadline()
}

// Err returns why the lease has ended: ErrLost, ErrReleased, ErrMaxHold or ErrClosed. It returns nil as long as the lease is held, also if the context
// that it was asked with has ended, of which the cause of [Lease.Context] tells then. What it returns holds at the moment of the call.
func (l *Lease) Err() error { return l.ended() }

// ended returns why the lease has ended, or nil. Its context has ended then, too: whoever ended the lease may not have come to that yet.
func (l *Lease) ended() error {
	h := l.hold
	h.check()
	h.mu.Lock()
	why, ending := l.state(), l.ending
	h.mu.Unlock()
	if why != nil && ending != nil {
		ending.cancel(why)
	}
	return why
}

// deadline is until when the hold is held. mu is held.
func (h *hold) deadline() time.Time {
	deadline := h.start.Add(h.valid).Time()
	if most := h.lock.maxHold; most > 0 {
		if limit := h.since.Add(most).Time(); limit.Before(deadline) {
			return limit
		}
	}
	return deadline
}

// Context returns a context for the work under the lease. It comes from the context that the
// lease was asked with, and is cancelled when the lease ends, at its deadline at the latest, even if
// the engine hangs: context.Cause then tells ErrLost, ErrReleased, ErrMaxHold or ErrClosed. With it, a further
// Lock of the same name is granted at once.
//
// Keep the lease or this context for as long as the lease is needed, as "defer lease.Release()" does: who only waits for the channel of Done has
// dropped both, and the lease is not renewed any more.
func (l *Lease) Context() context.Context {
	l.derive.Do(func() {
		// The parent may be the context of another lease, or of this one, and is not to be
		// touched under a lock: it looks at its own hold.
		ctx, cancel := newLeaseContext(l)
		l.ctx = ctx
		l.onEnd(cancel)
	})
	return l.ctx
}

// ending is how the context of one lease is ended. The hold knows it, and not the lease, which may be dropped.
type ending struct{ cancel context.CancelCauseFunc }

// onEnd calls cancel with the cause when the lease ends, or now if it has ended.
func (l *Lease) onEnd(cancel context.CancelCauseFunc) {
	h := l.hold
	h.mu.Lock()
	ended := l.state()
	if ended == nil {
		l.ending = &ending{cancel}
		h.endings = append(h.endings, l.ending)
	}
	h.mu.Unlock()
	if ended != nil {
		cancel(ended)
	}
}

// state returns why the lease can no longer be used, or nil. hold.mu is held.
func (l *Lease) state() error {
	switch {
	case l.left || l.hold.tenure != l.tenure:
		return ErrReleased
	case l.hold.phase != held:
		return l.hold.cause
	}
	return nil
}

// again is re-entry: one more lease of the same hold.
func (l *Lease) again(ctx context.Context, a *ask) (*Lease, error) {
	h := l.hold
	h.check()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := l.state(); err != nil {
		return nil, h.lock.failure(a.op, err, nil)
	}
	if h.mode == driver.Shared && a.mode == driver.Exclusive {
		return nil, h.lock.failure(a.op, ErrUpgrade, nil)
	}
	h.count++
	h.handles.Add(1)
	return newLease(ctx, h, l.tenure, l.token), nil
}

// Extend makes the lease last at least ttl from now, 100 ms to 24 h. It is for leases without
// renewal, and for work that must not be interrupted by a trouble longer than the ordinary ttl. It
// never shortens a lease, and MaxHold limits it. It returns ErrLost, ErrReleased, ErrUnavailable if
// the engine did not answer (the lease stays as it was), ErrInvalid or an error of ctx.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	h := l.hold
	c := h.lock.client
	if most := h.lock.longest(); ttl < MinTTL || ttl > most {
		return invalid("TTL", ttl, MinTTL.String()+" to "+most.String())
	}
	return l.use(ctx, "extend", nil, func(ctx context.Context, ref driver.Hold) error {
		sent := driver.Now()
		answer := errNoAnswer
		c.engine.Renew(ctx, []driver.Renewal{{Hold: ref, TTL: ttl}}, func(_ int, err error) { answer = err })
		if answer == nil {
			h.extended(sent, ttl)
		}
		return answer
	})
}

// Downgrade turns a write lock into a read lock without letting go in between: waiting readers
// come in, and no writer can have been there. The token stays. It returns ErrLost, ErrReleased, ErrNested,
// ErrUnsupported, ErrUnavailable if the engine did not answer, or an error of ctx. After the last two it may have
// been done or not: count on no more than a read lock, and call it again.
func (l *Lease) Downgrade(ctx context.Context) error {
	h := l.hold
	c := h.lock.client
	d, ok := c.engine.(driver.Downgrader)
	if !ok || !c.abilities.Shared || h.lock.key.Kind != driver.Lock {
		return h.lock.failure("downgrade", ErrUnsupported, nil)
	}
	// From before the request is sent, whatever comes of it, the hold counts as a read lock: it is neither handed over nor
	// entered again for writing. The turn of the local queue is kept until the engine has confirmed.
	weaken := func() error {
		if h.count > 1 {
			return ErrNested
		}
		h.mode = driver.Shared
		return nil
	}
	return l.use(ctx, "downgrade", weaken, func(ctx context.Context, ref driver.Hold) error {
		err := d.Downgrade(ctx, ref)
		if err == nil {
			h.shared()
		}
		return err
	})
}

// use sends one request for a lease that is held. Before, it runs prepare, if there is one, under hold.mu.
func (l *Lease) use(ctx context.Context, op string, prepare func() error, f func(context.Context, driver.Hold) error) error {
	h := l.hold
	c := h.lock.client
	if err := ctx.Err(); err != nil {
		return h.lock.failure(op, err, context.Cause(ctx))
	}
	h.check()
	h.mu.Lock()
	err, ref, left := l.state(), h.ref(), h.left(driver.Now())
	if err == nil && prepare != nil {
		err = prepare()
	}
	h.mu.Unlock()
	if err != nil {
		return h.lock.failure(op, err, nil)
	}
	_, err = request(ctx, c, c.limit(max(left, time.Millisecond)), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f(ctx, ref)
	}, ignore)
	switch {
	case err == nil:
		return nil
	case driver.IsNo(err):
		h.refused()
	case ctx.Err() != nil:
		return h.lock.failure(op, ctx.Err(), context.Cause(ctx))
	}
	sentinel, cause := fromEngine(err)
	return h.lock.failure(op, sentinel, cause)
}
