package leasehold

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// Lease is a lock that was granted. The client renews it, and it is valid until it is released or lost. A lease that
// has ended never becomes valid again.
//
// A lease that is dropped (garbage collected, along with its context) without having been released is no longer
// renewed, so the lock becomes free after its ttl; that is logged. Keeping only the channel of Context().Done() counts
// as dropping the lease. If it was entered again with a context that was derived from its own, the context of the inner
// lease keeps it.
type Lease struct {
	hold   *hold
	tenure uint32
	token  uint64
	parent context.Context

	releaseOnce sync.Once
	releaseErr  error
	contextOnce sync.Once
	ctx         context.Context

	// Guarded by hold.mu:
	released     bool      // while other leases of the tenure are not
	lastDeadline time.Time // the deadline when it was released
	contextEnd   *contextEnd
	cleanup      runtime.Cleanup
}

func newLeaseLocked(parent context.Context, h *hold, tenure uint32, token uint64) *Lease {
	l := &Lease{hold: h, tenure: tenure, token: token, parent: parent}
	h.unwatched = append(h.unwatched, l)
	return l
}

// watchLeasesLocked registers the leases with the garbage collector, to notice when they are dropped. Until the first
// renewal the hold refers to its leases instead: most leases are released before that, and registering one costs as
// much as everything else about it.
func (h *hold) watchLeasesLocked() {
	for _, l := range h.unwatched {
		l.cleanup = runtime.AddCleanup(l, noteDropped, h)
	}
	h.unwatched, h.unwatchedBuf[0] = nil, nil // otherwise the hold would still refer to the first lease
}

func (h *hold) unwatchLeaseLocked(l *Lease) {
	if at := slices.Index(h.unwatched, l); at >= 0 {
		h.unwatched = slices.Delete(h.unwatched, at, at+1)
		return
	}
	l.cleanup.Stop()
}

// noteDropped runs when a lease was garbage collected without having been released. It only counts, and the renewer
// notices: noteDropped may run at any time, outside the synctest bubble of any test.
func noteDropped(h *hold) { h.droppedLeases.Add(1) }

// Name returns the name that is locked.
func (l *Lease) Name() string { return l.hold.lock.key.Name }

// Holder returns the public text about the holder, which listings show: see [WithHolder] and [Label].
func (l *Lease) Holder() string { return l.hold.lock.holder }

// Token returns the fencing token: larger than that of every earlier grant of the name, below 2^53, never zero. Send it
// with each write, and let the resource refuse a token that is smaller than one it has seen.
func (l *Lease) Token() uint64 { return l.token }

// Deadline returns the end of the lease: until then, nobody else is granted the name. Each renewal that the engine
// confirms moves it forward. For a lease that has ended it returns the last deadline.
func (l *Lease) Deadline() time.Time {
	h := l.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.released || h.tenure != l.tenure {
		return l.lastDeadline
	}
	return h.validity.deadline()
}

// Err returns why the lease has ended: ErrLost, ErrReleased, ErrMaxHold or ErrClosed. It returns nil while the lease is
// held, even if the context that was passed to Lock has ended; the cause of [Lease.Context] says so. The answer is true
// at the moment of the call.
func (l *Lease) Err() error {
	h := l.hold
	h.checkHeld()
	h.mu.Lock()
	err, end := l.errLocked(), l.contextEnd
	h.mu.Unlock()
	if err != nil && end != nil { // whoever ended the lease may not have cancelled its context yet
		end.cancel(err)
	}
	return err
}

// Context returns a context for the work under the lease. It is derived from the context that was passed to Lock. It is
// cancelled when the lease ends, at its deadline at the latest, even if the engine hangs: context.Cause then returns
// ErrLost, ErrReleased, ErrMaxHold or ErrClosed. A further Lock of the same name with this context is granted at once.
//
// Keep the lease or this context for as long as the lease is needed, as "defer lease.Release()" does. Code that only
// keeps the channel of Done has dropped both, and the lease is no longer renewed.
func (l *Lease) Context() context.Context {
	l.contextOnce.Do(func() {
		// The parent may be the context of another lease, or of this one, which locks its own hold. So it must not be
		// used with this hold locked.
		ctx, cancel := newLeaseContext(l)
		l.ctx = ctx
		h := l.hold
		h.mu.Lock()
		endErr := l.errLocked()
		if endErr == nil {
			l.contextEnd = &contextEnd{cancel}
			h.contextEnds = append(h.contextEnds, l.contextEnd)
		}
		h.mu.Unlock()
		if endErr != nil {
			cancel(endErr)
		}
	})
	return l.ctx
}

// contextEnd cancels the context of one lease. The hold refers to it and not to the lease, which may be dropped.
type contextEnd struct{ cancel context.CancelCauseFunc }

// errLocked returns why the lease can no longer be used, or nil. hold.mu is held.
func (l *Lease) errLocked() error {
	switch {
	case l.released || l.hold.tenure != l.tenure:
		return ErrReleased
	case l.hold.phase != phaseHeld:
		return l.hold.cause
	}
	return nil
}

// reenter returns one more lease of the same hold.
func (l *Lease) reenter(ctx context.Context, a *acquisition) (*Lease, error) {
	h := l.hold
	h.checkHeld()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := l.errLocked(); err != nil {
		return nil, h.lock.newError(a.op, err, nil)
	}
	if h.mode == driver.Shared && a.mode == driver.Exclusive {
		return nil, h.lock.newError(a.op, ErrUpgrade, nil)
	}
	h.openLeases++
	return newLeaseLocked(ctx, h, l.tenure, l.token), nil
}

// Extend makes the lease last for at least ttl from now, 100 ms to 24 h or the engine's longest ttl. Use it for leases
// that are not renewed, and for work that must survive an outage longer than the ordinary ttl. It never shortens a
// lease, and MaxHold limits it. It returns ErrLost, ErrMaxHold, ErrReleased, ErrClosed, ErrUnavailable if the engine
// did not answer (the lease may still be extended by a late answer), ErrInvalid or an error of ctx.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	h := l.hold
	c := h.lock.client
	if ttl < MinTTL || ttl > c.maxTTL {
		return newValueError("TTL", ttl, MinTTL.String()+" to "+c.maxTTL.String())
	}
	return l.sendFor(ctx, "extend", nil, func(ctx context.Context, ref driver.Hold) error {
		sent := driver.Now()
		answer := timelimit.ErrNoAnswer
		c.engine.Renew(ctx, []driver.Renewal{{Hold: ref, TTL: ttl}}, func(_ int, err error) { answer = err })
		if answer == nil {
			h.noteExtended(sent, ttl)
		}
		return answer
	})
}

// Downgrade turns a write lock into a read lock without releasing it in between: waiting readers are granted,
// and no writer can have come first. The token stays. It returns ErrLost, ErrMaxHold, ErrReleased, ErrClosed,
// ErrNested, ErrUnsupported, ErrUnavailable if the engine did not answer, or an error of ctx. After the last
// two the outcome is unknown: rely on no more than a read lock, and call it again.
func (l *Lease) Downgrade(ctx context.Context) error {
	h := l.hold
	c := h.lock.client
	if !c.abilities.Shared || h.lock.key.Kind != driver.Lock {
		return h.lock.newError("downgrade", ErrUnsupported, nil)
	}
	// From now on the hold counts as a read lock, whatever the outcome of the request: it is neither handed over nor
	// entered again for writing. The hold keeps the turn of the local queue until the engine has confirmed.
	weaken := func() error {
		if h.openLeases > 1 {
			return ErrNested
		}
		h.mode = driver.Shared
		return nil
	}
	return l.sendFor(ctx, "downgrade", weaken, func(ctx context.Context, ref driver.Hold) error {
		err := c.engine.Downgrade(ctx, ref)
		if err == nil {
			h.noteDowngraded()
		}
		return err
	})
}

// sendFor sends one request for a lease that is held. It first calls prepare, if that is not nil, with hold.mu locked.
func (l *Lease) sendFor(
	ctx context.Context, op string, prepare func() error, f func(context.Context, driver.Hold) error,
) error {
	h := l.hold
	c := h.lock.client
	if err := ctx.Err(); err != nil {
		return h.lock.newError(op, err, context.Cause(ctx))
	}
	h.checkHeld()
	h.mu.Lock()
	err, ref, left := l.errLocked(), h.refLocked(), h.validity.remaining(driver.Now())
	if err == nil && prepare != nil {
		err = prepare()
	}
	h.mu.Unlock()
	if err != nil {
		return h.lock.newError(op, err, nil)
	}
	limit := c.requests.TimeFor(max(left, time.Millisecond))
	_, err = timelimit.Send(ctx, &c.requests, limit, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f(ctx, ref)
	})
	switch {
	case err == nil:
		return nil
	case driver.IsNo(err):
		h.noteNotHeld()
	case ctx.Err() != nil:
		return h.lock.newError(op, ctx.Err(), context.Cause(ctx))
	}
	sentinel, cause := fromEngine(err)
	return h.lock.newError(op, sentinel, cause)
}

// Format implements [fmt.Formatter]. Every verb, and package log/slog, print the name and the token, and no internal
// state: that contains the owner.
func (l *Lease) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "lease of %s %q with token %d", l.hold.lock.key.Kind, l.Name(), l.token)
}
