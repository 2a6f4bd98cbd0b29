package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// RWMutex is a lock that one writer or many readers hold at a time. It shares its
// name with a Mutex: they exclude each other. Waiters are served in their order, so neither side
// starves; readers next to each other in the queue get in together.
type RWMutex struct{ lock *lock }

// RWMutex returns the read-write lock with that name. Not every engine has it: calls then return
// ErrUnsupported.
func (c *Client) RWMutex(name string, opts ...Option) *RWMutex {
	l := newLock(c, driver.Lock, name, 1, opts)
	if l.err == nil && !c.abilities.Shared {
		l.err = l.failure("use", ErrUnsupported, nil)
	}
	return &RWMutex{l}
}

// Lock waits for the write lock. It is like Mutex.Lock. The holder of a read lock, known by
// its context, is refused with ErrUpgrade.
func (m *RWMutex) Lock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &ask{op: "lock"})
}

// TryLock is Lock without waiting.
func (m *RWMutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &ask{op: "try lock", try: true})
}

// RLock waits for a read lock. The holder of the write lock, known by its context, gets the
// write lock once more.
func (m *RWMutex) RLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &ask{op: "read lock", mode: driver.Shared})
}

// TryRLock is RLock without waiting.
func (m *RWMutex) TryRLock(ctx context.Context) (*Lease, error) {
	return m.lock.acquire(ctx, &ask{op: "try read lock", mode: driver.Shared, try: true})
}

// Do runs fn while holding the write lock; see Mutex.Do.
func (m *RWMutex) Do(ctx context.Context, fn func(context.Context, *Lease) error) error {
	lease, err := m.Lock(ctx)
	return do(lease, err, fn)
}

// RDo runs fn while holding a read lock; see Mutex.Do.
func (m *RWMutex) RDo(ctx context.Context, fn func(context.Context, *Lease) error) error {
	lease, err := m.RLock(ctx)
	return do(lease, err, fn)
}
