package objects

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
)

// ReadWriteLock is RReadWriteLock of Redisson, and one thread that may hold it, for reading or writing. A writer may
// also lock for reading, and goes on as a reader when it has unlocked for writing. A reader that locks for writing gets
// [leasehold.ErrUpgrade]: in Java it would wait for itself.
//
// Readers do not wait behind a writer that waits, so many readers can keep writers out. It is safe for concurrent use,
// but all goroutines that use it count as one holder. A call waits for an earlier one on the same ReadWriteLock.
type ReadWriteLock struct {
	name     string
	engine   *engine
	watchdog time.Duration
	owner    *Client

	calls turn // one call after the other

	mu            sync.Mutex
	lease         *leasehold.Lease // nil if it is not held
	writes, reads int              // how often it is held
	leaseTime     time.Duration    // how long it was taken for, or 0 if the watchdog keeps it
}

// ReadWriteLock returns a lock that one writer or many readers hold, from getReadWriteLock in Redisson.
func (c *Client) ReadWriteLock(name string) *ReadWriteLock {
	return &ReadWriteLock{name: name, engine: c.readWrite, watchdog: c.watchdog, calls: newTurn(), owner: c}
}

// Lock waits until the lock is held for writing, or until ctx ends.
func (l *ReadWriteLock) Lock(ctx context.Context, opts ...LockOption) error {
	return l.take(ctx, newRequest(opts), true, true)
}

// TryLock reports whether the lock is held for writing now. It does not wait, unless [WaitTime] says so.
func (l *ReadWriteLock) TryLock(ctx context.Context, opts ...LockOption) (bool, error) {
	r := newRequest(opts)
	return r.isHeld(ctx, l.take(ctx, r, true, r.wait > 0))
}

// RLock waits until the lock is held for reading, or until ctx ends.
func (l *ReadWriteLock) RLock(ctx context.Context, opts ...LockOption) error {
	return l.take(ctx, newRequest(opts), false, true)
}

// TryRLock reports whether the lock is held for reading now. It does not wait, unless [WaitTime] says so.
func (l *ReadWriteLock) TryRLock(ctx context.Context, opts ...LockOption) (bool, error) {
	r := newRequest(opts)
	return r.isHeld(ctx, l.take(ctx, r, false, r.wait > 0))
}

func (l *ReadWriteLock) take(ctx context.Context, r request, write, wait bool) error {
	if err := l.calls.take(ctx); err != nil {
		return err
	}
	defer l.calls.end()
	if err := l.owner.begin(); err != nil {
		return err
	}
	defer l.owner.running.Done()
	lease, err := l.heldLease(write)
	if err != nil {
		return err
	}
	if lease != nil {
		if err := r.extend(ctx, lease, l.leaseTime, l.watchdog); err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count(write)
		return nil
	}
	m := l.engine.client.RWMutex(l.name, r.options(l.watchdog)...)
	lock := map[[2]bool]func(context.Context) (*leasehold.Lease, error){
		{true, true}: m.Lock, {true, false}: m.TryLock, {false, true}: m.RLock, {false, false}: m.TryRLock,
	}[[2]bool{write, wait}]
	if lease, err = lock(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.writes, l.reads, l.leaseTime = lease, 0, 0, r.lease
	l.count(write)
	return nil
}

// count counts that the lock is held once more.
func (l *ReadWriteLock) count(write bool) {
	if write {
		l.writes++
	} else {
		l.reads++
	}
}

// heldLease returns the lease, or nil if the lock is not held.
func (l *ReadWriteLock) heldLease(write bool) (*leasehold.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lease == nil || l.lease.Err() != nil:
		return nil, nil
	case write && l.writes == 0:
		return nil, fmt.Errorf("redisson: lock %q for writing: %w", l.name, leasehold.ErrUpgrade)
	}
	return l.lease, nil
}

// Unlock ends one Lock or TryLock. If the lock is still held for reading after the last one, other readers may hold it,
// too, from then on. If the server does not answer to that, the lock is still held for writing, and Unlock may be
// called again. Other errors are those of [Lock.Unlock].
func (l *ReadWriteLock) Unlock() error { return l.end(true) }

// RUnlock ends one RLock or TryRLock. Errors are those of [Lock.Unlock].
func (l *ReadWriteLock) RUnlock() error { return l.end(false) }

func (l *ReadWriteLock) end(write bool) error {
	_ = l.calls.take(context.Background()) // never fails
	defer l.calls.end()
	l.mu.Lock()
	held := &l.reads
	if write {
		held = &l.writes
	}
	if *held == 0 {
		l.mu.Unlock()
		return ErrNotHeld
	}
	*held--
	lease, downgrade, release := l.lease, write && l.writes == 0 && l.reads > 0, l.writes+l.reads == 0
	if release {
		l.lease = nil
	}
	l.mu.Unlock()
	err := lease.Err()
	switch {
	case release:
		err = lease.Release()
	case downgrade && err == nil:
		ctx, cancel := context.WithTimeout(context.Background(), leasehold.DefaultRequestTimeout)
		defer cancel()
		err = lease.Downgrade(ctx)
		if errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			l.mu.Lock()
			l.writes = 1
			l.mu.Unlock()
			return fmt.Errorf("redisson: the lock is still held for writing: unlock it again: %w", err)
		}
	}
	if err != nil && !errors.Is(err, leasehold.ErrUnknown) && !errors.Is(err, leasehold.ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return err
}

// ForceUnlock takes the lock away from its writer, or from all readers, and reports whether anybody held it. Holders in
// Go notice at their next renewal.
func (l *ReadWriteLock) ForceUnlock(ctx context.Context) (bool, error) {
	return l.engine.forceUnlock(ctx, l.name)
}

// Context returns a context for the work under the lock, as [Lock.Context] does.
func (l *ReadWriteLock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil {
		return notHeld
	}
	return l.lease.Context()
}

// HoldCounts returns how often this value holds the lock for writing and for reading: 0 if it does not, or has lost it.
func (l *ReadWriteLock) HoldCounts() (writes, reads int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil || l.lease.Err() != nil {
		return 0, 0
	}
	return l.writes, l.reads
}
