package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// RWMutex is a lock that one writer or many readers hold at a time. It shares its name with a Mutex: they exclude each
// other. Waiters are served in order, so neither side starves; readers that are adjacent in the queue are granted
// together.
type RWMutex struct{ lock *lock }

// RWMutex returns the read-write lock with that name. Not every engine has it: calls then return ErrUnsupported.
func (c *Client) RWMutex(name string, opts ...Option) *RWMutex {
	l := newLock(c, driver.Lock, name, 1, opts)
	if l.err == nil && !c.abilities.Shared {
		l.err = l.newError("use", ErrUnsupported, nil)
	}
	return &RWMutex{l}
}

// Lock waits for the write lock. It is like Mutex.Lock. If ctx is derived from the context of a read lock on the same
// name, it returns ErrUpgrade.
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &acquisition{op: "lock"})
}

// TryLock is Lock without waiting.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &acquisition{op: "try lock", try: true})
}

// RLock waits for a read lock. If ctx is derived from the context of the write lock on the same name, it returns one
// more lease of the write lock.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &acquisition{op: "read lock", mode: driver.Shared})
}

// TryRLock is RLock without waiting.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &acquisition{op: "try read lock", mode: driver.Shared, try: true})
}

// Do runs fn while holding the write lock; see Mutex.Do.
func (m *RWMutex) Do(ctx context.Context, fn func(context.Context, *Lease) error) error {
	lease, err := m.Lock(ctx)
	return runUnder(lease, err, fn)
}

// RDo runs fn while holding a read lock; see Mutex.Do.
func (m *RWMutex) RDo(ctx context.Context, fn func(context.Context, *Lease) error) error {
	lease, err := m.RLock(ctx)
	return runUnder(lease, err, fn)
}
