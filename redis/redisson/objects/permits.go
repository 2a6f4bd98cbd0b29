package objects

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// PermitExpirableSemaphore is an RPermitExpirableSemaphore of Redisson: a number of permits that have leases. It has
// the methods of [leasehold.Semaphore], which acquire permits; what they return gives them back. It is safe for
// concurrent use.
//
// The other methods are about the number of permits, whoever holds some, and about permits by their ids, which acquire
// returns in Java: 32 hexadecimal digits. Permits of programs in Go have ids, too, which are secret: whoever knows one
// may release it.
//
// Errors of those are *[leasehold.Error], which match leasehold.ErrInvalid for a value that is not allowed,
// leasehold.ErrUnknown if the server has not answered and may have done it, leasehold.ErrUnavailable if it did not
// answer or refused, and has not done it, leasehold.ErrClosed, or an error of ctx. Nothing is repeated by itself.
type PermitExpirableSemaphore struct {
	*leasehold.Semaphore
	client *Client
	name   string
	inner  *redisson.PermitExpirableSemaphore
}

// PermitExpirableSemaphore returns a semaphore whose permits have leases, from getPermitExpirableSemaphore in Redisson.
// permits is the size: how many are held at most, as far as this value acquires them. If nobody has set the number of
// permits, the first that acquires some sets it to its size; see [PermitExpirableSemaphore.TrySetPermits]. Permits that
// are held are renewed, as locks are by the watchdog, which Java does not have for permits. For permits with a lease
// time, give leasehold.NoRenew and leasehold.TTL. If there are too few, TryAcquire returns leasehold.ErrHeld.
func (c *Client) PermitExpirableSemaphore(
	name string, permits int, opts ...leasehold.Option,
) *PermitExpirableSemaphore {
	opts = append([]leasehold.Option{leasehold.TTL(c.watchdog)}, opts...)
	return &PermitExpirableSemaphore{
		c.plain.client.Semaphore(name, permits, opts...), c, name, c.plain.Engine.PermitExpirableSemaphore(name),
	}
}

// Name returns the name of the semaphore.
func (s *PermitExpirableSemaphore) Name() string { return s.name }

func (s *PermitExpirableSemaphore) change(ctx context.Context, op string, f func(context.Context) error) error {
	return s.client.change(ctx, op, driver.Semaphore, s.name, f)
}

// TrySetPermits makes n permits available, which may be 0, and reports whether it did: if the number is set, nothing
// changes. Acquiring permits in Go sets it, too.
func (s *PermitExpirableSemaphore) TrySetPermits(ctx context.Context, n int) (set bool, _ error) {
	err := s.change(ctx, "set permits of", func(ctx context.Context) (err error) {
		set, err = s.inner.TrySetPermits(ctx, n)
		return err
	})
	return set, err
}

// SetPermits sets how many permits there are, those that are held among them. If more are held, fewer than 0 are
// available until they come back. No value of a smaller size gets more than its size.
func (s *PermitExpirableSemaphore) SetPermits(ctx context.Context, n int) error {
	return s.change(ctx, "set permits of", func(ctx context.Context) error { return s.inner.SetPermits(ctx, n) })
}

// AddPermits makes n more permits available, or takes some away if n is below zero. After leasehold.ErrUnknown, compare
// Permits with what it was before you call it again: the permits may have been added.
func (s *PermitExpirableSemaphore) AddPermits(ctx context.Context, n int) error {
	return s.change(ctx, "add permits to", func(ctx context.Context) error { return s.inner.AddPermits(ctx, n) })
}

// AvailablePermits returns how many permits are available: 0 if the number is not set, and below zero if more are held
// than there should be.
func (s *PermitExpirableSemaphore) AvailablePermits(ctx context.Context) (int, error) {
	available, _, err := s.count(ctx)
	return available, err
}

// AcquiredPermits returns how many permits are held.
func (s *PermitExpirableSemaphore) AcquiredPermits(ctx context.Context) (int, error) {
	_, held, err := s.count(ctx)
	return held, err
}

// Permits returns how many permits there are, available and held: getPermits in Redisson.
func (s *PermitExpirableSemaphore) Permits(ctx context.Context) (int, error) {
	available, held, err := s.count(ctx)
	return available + held, err
}

func (s *PermitExpirableSemaphore) count(ctx context.Context) (available, held int, _ error) {
	err := s.client.ask(ctx, "count permits of", driver.Semaphore, s.name, func(ctx context.Context) (err error) {
		available, held, err = s.inner.CountPermits(ctx)
		return err
	})
	return available, held, err
}

// TryReleaseID gives back the permit with an id, whoever has acquired it, and reports whether it was held: tryRelease
// in Redisson, while release fails if it was not. After leasehold.ErrUnknown it may be released; call it again, which
// reports false if it is.
func (s *PermitExpirableSemaphore) TryReleaseID(ctx context.Context, id string) (held bool, _ error) {
	err := s.change(ctx, "release a permit of", func(ctx context.Context) (err error) {
		held, err = s.inner.TryRelease(ctx, id)
		return err
	})
	return held, err
}

// LeaseTime returns how much is left of the lease of the permit with an id, and whether it is held: getLeaseTime in
// Redisson, which fails if it is not. It is [driver.NoTTL] if the lease has no end, which is -1 in Redisson.
func (s *PermitExpirableSemaphore) LeaseTime(
	ctx context.Context, id string,
) (left time.Duration, held bool, _ error) {
	err := s.client.ask(ctx, "look at a permit of", driver.Semaphore, s.name, func(ctx context.Context) (err error) {
		left, held, err = s.inner.LeaseTime(ctx, id)
		return err
	})
	return left, held, err
}

// UpdateLeaseTime makes the lease of the permit with an id end after d from now, 100 ms to 24 h, and reports whether it
// is held. It is the only way to shorten a lease, and never shortens that of a program in Go, which relies on it.
func (s *PermitExpirableSemaphore) UpdateLeaseTime(
	ctx context.Context, id string, d time.Duration,
) (held bool, _ error) {
	err := s.change(ctx, "update a lease of", func(ctx context.Context) (err error) {
		held, err = s.inner.UpdateLeaseTime(ctx, id, d)
		return err
	})
	return held, err
}
