package objects

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// Lock is an RLock of Redisson, or one of the locks that have its methods, and a thread that may hold it: the value
// that holds the lock may lock it again, and must unlock it as often. Another Lock of the same name is another thread,
// and does not get it. The hold count is kept here, so that only the first lock and the last unlock ask the server.
//
// Making a Lock costs little: it sends nothing, and needs no Close. It is safe for concurrent use, but all goroutines
// that use it count as one thread, and a call waits for an earlier one on the same Lock.
type Lock struct {
	h    *holder
	mode driver.Mode
}

// ErrNotHeld is returned by Unlock if this value does not hold the lock, or not any more:
// IllegalMonitorStateException in Redisson.
var ErrNotHeld = errors.New("redisson: the lock is not held by this value")

// LockOption says how to lock.
type LockOption func(*request)

// request is what options of one call set.
type request struct {
	lease time.Duration // 0: the watchdog renews
	wait  time.Duration

	outlives bool // the lease goes on when the context of the call ends, and so does its own context
}

// outlive is for the locks of a MultiLock: what limits its attempts must not end what they have locked.
func outlive(r *request) { r.outlives = true }

// LeaseTime lets the lock end after d, whether or not it was unlocked: leaseTime in Redisson. At least 100 ms, at most
// 24 h, or the watchdog timeout for a ReadWriteLock. Without it, or if it is 0, which is -1 in Redisson, the lock is
// renewed until it is unlocked or lost. If the holder locks again, the lease lasts for at least d from then on: that
// never shortens it, and a lock that is renewed stays so.
func LeaseTime(d time.Duration) LockOption { return func(r *request) { r.lease = d } }

// WaitTime limits how long the call waits: waitTime of tryLock in Redisson. TryLock then waits, and reports false when
// it was too long. Lock returns leasehold.ErrTimeout. At 0 or below, it is as if it were not given. A deadline of
// ctx limits the wait, too, but TryLock returns it as an error, and [Lock.Context] ends with it.
func WaitTime(d time.Duration) LockOption { return func(r *request) { r.wait = d } }

// newRequest reads the options of a call.
func newRequest(opts []LockOption) (r request) {
	for _, opt := range opts {
		opt(&r)
	}
	return r
}

// options returns how the library takes a lock. Without a lease time, the watchdog keeps it.
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

// isHeld turns the error of a try into its result: that somebody else holds the lock is none.
func (r request) isHeld(ctx context.Context, err error) (bool, error) {
	if errors.Is(err, leasehold.ErrHeld) || r.wait > 0 && errors.Is(err, leasehold.ErrTimeout) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// Name returns the name of the lock: getName in Redisson.
func (l *Lock) Name() string { return l.h.name }

// Lock waits until the lock is held, or until ctx ends: lock and lockInterruptibly in Redisson. Errors are those of
// [leasehold.Mutex.Lock].
func (l *Lock) Lock(ctx context.Context, opts ...LockOption) error {
	return l.h.lock(ctx, newRequest(opts), l.mode, true)
}

// TryLock reports whether the lock is held now. It does not wait, unless [WaitTime] says so. That somebody else holds
// the lock is no error.
func (l *Lock) TryLock(ctx context.Context, opts ...LockOption) (bool, error) {
	r := newRequest(opts)
	return r.isHeld(ctx, l.h.lock(ctx, r, l.mode, r.wait > 0))
}

// Unlock ends one Lock or TryLock, and frees the lock if it was the last one. It takes at most 5 s. It
// returns [ErrNotHeld] if the lock is not held, along with leasehold.ErrLost if it was lost, and leasehold.ErrUnknown
// if the server did not confirm: the unlock is repeated in the background then.
func (l *Lock) Unlock() error { return l.h.unlock(l.mode) }

// Context returns a context for the work under the lock. It is cancelled when the lock is lost or unlocked: its cause
// says which. It comes from the ctx that the lock was taken with, and ends with that, too: limit only the wait with
// [WaitTime]. If the lock is not held, the context has ended.
func (l *Lock) Context() context.Context { return l.h.contextOf(l.mode) }

// HoldCount returns how often this Lock holds the lock: 0 if it does not, or has lost it. It asks no server.
// getHoldCount in Redisson, and isHeldByCurrentThread if it is above 0.
func (l *Lock) HoldCount() int { return l.h.holdCount(l.mode) }

// Token returns the token of a hold of a FencedLock, a FairLock or a ReadWriteLock, larger than those of earlier holds
// with a token: getToken in Redisson. Send it with each write, and let the resource refuse a token that is smaller than
// one it has seen. It is 0 for all other locks, and if this Lock does not hold it.
func (l *Lock) Token() uint64 { return l.h.token(l.mode) }

// IsLocked asks the server whether anybody holds the lock.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	holders, err := l.h.holders(ctx, "look at", l.mode)
	return len(holders) > 0, err
}

// RemainingTime asks the server how much is left of the lease of the holder, or of the longest lease of all readers:
// remainTimeToLive in Redisson. It is 0 if nobody holds the lock, and [driver.NoTTL] if the lease never ends, as only
// that of a damaged lock does.
func (l *Lock) RemainingTime(ctx context.Context) (left time.Duration, _ error) {
	holders, err := l.h.holders(ctx, "look at", l.mode)
	for _, h := range holders {
		if h.TTL == driver.NoTTL {
			return driver.NoTTL, nil
		}
		left = max(left, h.TTL)
	}
	return left, err
}

// ForceUnlock frees the lock, whoever holds it, and reports whether anybody did: forceUnlock in Redisson. A holder in
// Go notices at its next renewal.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) { return l.h.forceUnlock(ctx, l.mode) }
