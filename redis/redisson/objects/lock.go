package objects

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// Lock is a lock of Redisson, and one thread that may hold it: a holder may lock again, and must unlock as often. The
// hold count is kept here, and the server is asked only for the first lock and the last unlock.
//
// It is safe for concurrent use, but all goroutines that use it count as one holder. A call waits for an earlier one on
// the same Lock.
type Lock struct {
	name     string
	engine   *engine
	watchdog time.Duration
	lock     lockFunc
	fenced   bool
	owner    *Client

	calls turn // one call after the other

	mu    sync.Mutex
	lease *leasehold.Lease // nil if it is not held
	count int
	// leaseTime is how long it was taken for, or 0 if the watchdog keeps it.
	leaseTime time.Duration
}

// ErrNotHeld is returned by Unlock if this Lock does not hold it, or not any more: IllegalMonitorStateException in
// Redisson.
var ErrNotHeld = errors.New("redisson: the lock is not held by this value")

// LockOption says how to lock.
type LockOption func(*request)

// request is what options of one call set.
type request struct {
	lease time.Duration // 0: the watchdog renews
	wait  time.Duration
}

// LeaseTime lets the lock end after d, whether or not it was unlocked: leaseTime in Redisson. Without it, or if it is
// 0, the lock is renewed until it is unlocked or lost. A holder that locks again makes its lease last for d more, but
// never shortens it, nor ends the renewals of a lock that is renewed.
func LeaseTime(d time.Duration) LockOption { return func(r *request) { r.lease = d } }

// WaitTime lets TryLock wait for as long as d: waitTime in Redisson.
func WaitTime(d time.Duration) LockOption { return func(r *request) { r.wait = d } }

// Lock waits until the lock is held, or until ctx ends. A ctx that comes from the Context of another Lock of the same
// name and client counts as its holder: do not pass it. Errors are those of [leasehold.Mutex.Lock].
func (l *Lock) Lock(ctx context.Context, opts ...LockOption) error {
	r := newRequest(opts)
	_, err := l.take(ctx, r, true)
	return err
}

// TryLock reports whether the lock is held now. It does not wait, unless [WaitTime] says so.
func (l *Lock) TryLock(ctx context.Context, opts ...LockOption) (bool, error) {
	r := newRequest(opts)
	_, err := l.take(ctx, r, r.wait > 0)
	return r.isHeld(ctx, err)
}

// isHeld turns the error of a try into its result: that somebody else holds the lock is none.
func (r request) isHeld(ctx context.Context, err error) (bool, error) {
	if errors.Is(err, leasehold.ErrHeld) || r.wait > 0 && errors.Is(err, leasehold.ErrTimeout) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// options returns how a lock is taken. Without a lease, the watchdog keeps it.
func (r request) options(watchdog time.Duration) []leasehold.Option {
	opts := []leasehold.Option{leasehold.TTL(watchdog)}
	if r.lease != 0 {
		opts = []leasehold.Option{leasehold.TTL(r.lease), leasehold.NoRenew()}
	}
	if r.wait > 0 {
		opts = append(opts, leasehold.WaitLimit(r.wait))
	}
	return opts
}

func newRequest(opts []LockOption) (r request) {
	for _, opt := range opts {
		opt(&r)
	}
	return r
}

// take takes the lock, or counts that it is held once more.
func (l *Lock) take(ctx context.Context, r request, wait bool) (*leasehold.Lease, error) {
	if err := l.calls.take(ctx); err != nil {
		return nil, err
	}
	defer l.calls.end()
	if err := l.owner.begin(); err != nil {
		return nil, err
	}
	defer l.owner.running.Done()
	if lease := l.heldLease(); lease != nil {
		if err := r.extend(ctx, lease, l.leaseTime, l.watchdog); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count++
		return lease, nil
	}
	lease, err := l.lock(ctx, l.engine.client, l.name, wait, r.options(l.watchdog))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.count, l.leaseTime = lease, 1, r.lease
	return lease, nil
}

// extend makes the lease of a lock that is locked again last as long as this request wants. had is the lease time that
// it was taken with.
func (r request) extend(ctx context.Context, lease *leasehold.Lease, had, watchdog time.Duration) error {
	wanted := r.lease
	if had != 0 && wanted == 0 {
		wanted = watchdog
	}
	if wanted == 0 {
		return nil
	}
	return lease.Extend(ctx, wanted)
}

// heldLease returns the lease, or nil if the lock is not held.
func (l *Lock) heldLease() *leasehold.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == 0 || l.lease.Err() != nil {
		return nil
	}
	return l.lease
}

// Unlock ends one Lock or TryLock, and frees the lock if it was the last one. It takes at most 5 s. It
// returns [ErrNotHeld] if the lock is not held, along with leasehold.ErrLost if it was lost, and leasehold.ErrUnknown
// if the server did not confirm: the unlock is repeated in the background then.
func (l *Lock) Unlock() error {
	_ = l.calls.take(context.Background()) // never fails
	defer l.calls.end()
	l.mu.Lock()
	lease := l.lease
	if l.count > 0 {
		l.count--
	}
	if l.count == 0 {
		l.lease = nil
	}
	last := l.count == 0
	l.mu.Unlock()
	if lease == nil {
		return ErrNotHeld
	}
	err := lease.Err()
	if last {
		err = lease.Release()
	}
	if err != nil && !errors.Is(err, leasehold.ErrUnknown) {
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return err
}

// Context returns a context for the work under the lock. It is cancelled when the lock is lost or unlocked: its cause
// says which. If the lock is not held, the context has ended.
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil {
		return notHeld
	}
	return l.lease.Context()
}

// notHeld is the context of a lock that is not held.
var notHeld = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrNotHeld)
	return ctx
}()

// HoldCount returns how often this Lock holds the lock: 0 if it does not, or has lost it.
func (l *Lock) HoldCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil || l.lease.Err() != nil {
		return 0
	}
	return l.count
}

// IsLocked asks the server whether anybody holds the lock.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	holder, err := l.holder(ctx)
	return holder != nil, err
}

// RemainingTime asks the server how much is left of the holder's lease: 0 if the lock is free, and [driver.NoTTL] if
// the lease never ends, which only a damaged lock has.
func (l *Lock) RemainingTime(ctx context.Context) (time.Duration, error) {
	holder, err := l.holder(ctx)
	if holder == nil {
		return 0, err
	}
	return holder.TTL, nil
}

// holder asks the server for the holder, nil if there is none.
func (l *Lock) holder(ctx context.Context) (*driver.Holder, error) {
	all, err := l.engine.holders(ctx, l.name)
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// ForceUnlock frees the lock, whoever holds it, and reports whether anybody did. A holder in Go notices at its next
// renewal.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return l.engine.forceUnlock(ctx, l.name)
}

// Token returns the token of a hold of a fenced lock, larger than those of earlier holds. Send it with each write, and
// let the resource refuse a token that is smaller than one it has seen. It is 0 for all other locks, and if this Lock
// does not hold it.
func (l *Lock) Token() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fenced || l.lease == nil || l.lease.Err() != nil {
		return 0
	}
	return l.lease.Token()
}
