package objects

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// ReadWriteLock is an RReadWriteLock of Redisson: one writer or many readers hold it. It is also one thread that may
// hold it, for reading or writing. A writer may also lock for reading, and goes on as a reader when it has unlocked for
// writing. A reader that locks for writing gets leasehold.ErrUpgrade: in Java it would wait for itself.
//
// Readers do not wait behind a writer that waits, so many readers can keep writers out. It is safe for concurrent use,
// but all goroutines that use it count as one thread. A call waits for an earlier one on the same ReadWriteLock.
type ReadWriteLock struct {
	h           *holder
	write, read Lock
}

// ReadWriteLock returns a lock that one writer or many readers hold, from getReadWriteLock in Redisson.
func (c *Client) ReadWriteLock(name string) *ReadWriteLock {
	h := c.newHolder(c.readWrite, name)
	return &ReadWriteLock{h, Lock{h, driver.Exclusive}, Lock{h, driver.Shared}}
}

// WriteLock returns the lock for writing: writeLock in Redisson. It counts as the same thread as the one for reading.
//
// If the lock is still held for reading after the last Unlock, other readers may hold it, too, from then on. If the
// server does not answer then, the lock is still held for writing, and Unlock may be called again.
func (l *ReadWriteLock) WriteLock() *Lock { return &l.write }

// ReadLock returns the lock for reading: readLock in Redisson. Its methods speak of readers only: IsLocked does not
// report a writer, and ForceUnlock takes the lock away from all readers.
func (l *ReadWriteLock) ReadLock() *Lock { return &l.read }

// Lock is WriteLock().Lock.
func (l *ReadWriteLock) Lock(ctx context.Context, opts ...LockOption) error {
	return l.write.Lock(ctx, opts...)
}

// TryLock is WriteLock().TryLock.
func (l *ReadWriteLock) TryLock(ctx context.Context, opts ...LockOption) (bool, error) {
	return l.write.TryLock(ctx, opts...)
}

// Unlock is WriteLock().Unlock.
func (l *ReadWriteLock) Unlock() error { return l.write.Unlock() }

// RLock is ReadLock().Lock.
func (l *ReadWriteLock) RLock(ctx context.Context, opts ...LockOption) error {
	return l.read.Lock(ctx, opts...)
}

// TryRLock is ReadLock().TryLock.
func (l *ReadWriteLock) TryRLock(ctx context.Context, opts ...LockOption) (bool, error) {
	return l.read.TryLock(ctx, opts...)
}

// RUnlock is ReadLock().Unlock.
func (l *ReadWriteLock) RUnlock() error { return l.read.Unlock() }

// Context returns a context for the work under the lock, in whichever way it is held. See [Lock.Context].
func (l *ReadWriteLock) Context() context.Context {
	return l.h.contextOf(driver.Exclusive, driver.Shared)
}

// HoldCounts returns how often this value holds the lock for writing and for reading: 0 if it does not, or has lost it.
func (l *ReadWriteLock) HoldCounts() (writes, reads int) {
	return l.write.HoldCount(), l.read.HoldCount()
}

// ForceUnlock takes the lock away from its writer, or from all readers, and reports whether anybody held it. Holders in
// Go notice at their next renewal.
func (l *ReadWriteLock) ForceUnlock(ctx context.Context) (bool, error) {
	return l.h.forceUnlock(ctx, driver.Exclusive, driver.Shared)
}
