package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Mutex is a lock that one holds at a time. It is only a name with settings: making one costs nothing,
// and any number of them may stand for the same name.
type Mutex struct{ lock *lock }

// Mutex returns the mutex with that name: 1 to 1024 bytes of valid UTF-8 without NUL. A bad
// name or option is reported by the first call that uses it.
func (c *Client) Mutex(name string, opts ...Option) *Mutex {
	return &Mutex{newLock(c, driver.Lock, name, 1, opts)}
}

// Lock waits until the lock is granted, until ctx ends, or for as long as
// WaitLimit allows. Waiters are served in their order where the engine is fair.
//
// It returns ErrTimeout, ErrCrowded, ErrFull, ErrUnavailable, ErrInvalid, ErrClosed or an error of ctx. An engine that
// cannot be reached at first is reported at once; one that stops answering while Lock waits, for others in this process too, is
// given one ttl to come back.
//
// If ctx comes from the context of a lease on the same name, Lock returns at once: the same lease once
// more, with the same token. The name is free when all of them have been released.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &ask{op: "lock"})
}

// TryLock is Lock without waiting: if somebody else holds the lock, it returns
// ErrHeld. It takes no longer than one request may.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &ask{op: "try lock", try: true})
}

// Do runs fn while holding the lock, and releases it in any case, also if fn panics or ctx has ended. fn
// should do its work with the context it is given, which is cancelled if the lock is lost. Do
// returns the error of Lock or of fn. If the lock was lost meanwhile, or held for as long as MaxHold allows, the error is ErrLost or ErrMaxHold,
// whatever fn returns, and that of fn as well, if it is not nil.
func (m *Mutex) Do(ctx context.Context, fn func(context.Context, *Lease) error) error {
	lease, err := m.Lock(ctx)
	return do(lease, err, fn)
}
