package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Mutex is a lock that has one holder at a time. A Mutex is only a name with settings: creating one costs nothing, and
// any number of them may stand for the same name.
type Mutex struct{ lock *lock }

// Mutex returns the mutex with that name: 1 to 1024 bytes of valid UTF-8 without NUL. A name or option that is not
// allowed is reported by the first call that uses the mutex.
func (c *Client) Mutex(name string, opts ...Option) *Mutex {
	return &Mutex{newLock(c, driver.Lock, name, 1, opts)}
}

// Lock waits until the lock is granted, until ctx ends, or for as long as WaitLimit allows. Waiters are served in order
// if the engine is fair.
//
// It returns ErrTimeout, ErrTooManyWaiters, ErrFull, ErrUnavailable, ErrUpgrade, ErrInvalid, ErrClosed or an error of
// ctx. If the engine cannot be reached at first, Lock fails at once. If it stops answering while Lock waits, on the
// engine or for others in this process, it has one ttl to come back.
//
// If ctx is derived from the context of a lease of this client on the same name, Lock returns at once: one more lease
// of the same hold, with the same token. The name is free when all of these leases have been released.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &acquisition{op: "lock"})
}

// TryLock is Lock without waiting: if somebody else holds the lock, it returns ErrHeld. It takes no longer than one
// request may.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &acquisition{op: "try lock", try: true})
}

// Do runs fn while holding the lock, and releases it in any case, even if fn panics or ctx has ended. fn should work
// with the context that it gets, which is cancelled if the lock is lost. Do returns the error of Lock or of fn. If the
// lock was lost meanwhile, or held for as long as MaxHold allows, the error is ErrLost or ErrMaxHold, joined with that
// of fn. If fn succeeded and the engine did not confirm the release, it is ErrUnknown: the work is done.
func (m *Mutex) Do(ctx context.Context, fn func(context.Context, *Lease) error) error {
	lease, err := m.Lock(ctx)
	return runUnder(lease, err, fn)
}
