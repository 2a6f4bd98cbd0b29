package objects

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// Semaphore is an RSemaphore of Redisson: a number of permits. Nobody owns a permit, and none has a lease: the permits
// of a program that dies are gone until somebody adds some, and anybody may. [Client.PermitExpirableSemaphore] has
// owners and leases. It is safe for concurrent use.
//
// Errors are *[leasehold.Error], which match leasehold.ErrInvalid for a name or a number of permits that is not
// allowed, leasehold.ErrUnavailable if the server did not answer or refused, leasehold.ErrClosed, or an error of ctx.
//
// A TryAcquire, Acquire or DrainPermits that fails has taken nothing, or is undone in the background. A Release or
// AddPermits that fails with leasehold.ErrUnknown is repeated there until the server answers, and counts once: do not
// call it again. After any other error it has added nothing. A TrySetPermits that fails may have had an effect.
type Semaphore struct {
	client *Client
	name   string
	inner  *redisson.Semaphore
}

// Semaphore returns a semaphore without leases, from getSemaphore in Redisson.
func (c *Client) Semaphore(name string) *Semaphore {
	return &Semaphore{c, name, c.plain.Engine.Semaphore(name)}
}

func (s *Semaphore) ask(ctx context.Context, op string, f func(context.Context) error) error {
	return s.client.ask(ctx, op, driver.Semaphore, s.name, f)
}

// Name returns the name of the semaphore.
func (s *Semaphore) Name() string { return s.name }

// Acquire takes n permits, and waits until there are so many, or until ctx ends.
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	return s.client.call(ctx, "acquire", driver.Semaphore, s.name, func(ctx context.Context) error {
		return s.inner.Acquire(ctx, n)
	})
}

// TryAcquire takes n permits if there are so many now, and reports whether it did.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (ok bool, _ error) {
	err := s.ask(ctx, "try acquire", func(ctx context.Context) (err error) {
		ok, err = s.inner.TryAcquire(ctx, n)
		return err
	})
	return ok, err
}

// Release gives n permits back. Nobody counts who has taken them, so it can also add permits, and makes the semaphore
// if it does not exist.
func (s *Semaphore) Release(ctx context.Context, n int) error {
	return s.give(ctx, "release", func(ctx context.Context) error { return s.inner.Release(ctx, n) })
}

// give calls f, which gives permits. What may have been sent goes on in the background.
func (s *Semaphore) give(ctx context.Context, op string, f func(context.Context) error) error {
	return s.client.change(ctx, op, driver.Semaphore, s.name, f)
}

// ReleaseIfExists is Release if the semaphore exists, and reports whether it does.
func (s *Semaphore) ReleaseIfExists(ctx context.Context, n int) (exists bool, _ error) {
	err := s.give(ctx, "release", func(ctx context.Context) (err error) {
		exists, err = s.inner.ReleaseIfExists(ctx, n)
		return err
	})
	return exists, err
}

// AddPermits adds n permits, and makes the semaphore if it does not exist. If n is below zero, it takes them away at
// once: the number of permits is below zero then if more are acquired than there should be.
func (s *Semaphore) AddPermits(ctx context.Context, n int) error {
	return s.give(ctx, "add permits to", func(ctx context.Context) error { return s.inner.AddPermits(ctx, n) })
}

// TrySetPermits makes the semaphore with n permits, which may be 0, and reports whether it did: if it exists, nothing
// changes.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int) (made bool, _ error) {
	err := s.ask(ctx, "set permits of", func(ctx context.Context) (err error) {
		made, err = s.inner.TrySetPermits(ctx, n)
		return err
	})
	return made, err
}

// TrySetPermitsFor is TrySetPermits for a semaphore that is gone when d has passed, 1 ms at least, whoever has permits:
// trySetPermits(n, timeToLive) in Redisson. A release that comes later makes it anew, without an end.
func (s *Semaphore) TrySetPermitsFor(ctx context.Context, n int, d time.Duration) (made bool, _ error) {
	err := s.ask(ctx, "set permits of", func(ctx context.Context) (err error) {
		made, err = s.inner.TrySetPermitsFor(ctx, n, d)
		return err
	})
	return made, err
}

// DrainPermits takes all permits that are available, and returns how many they were.
func (s *Semaphore) DrainPermits(ctx context.Context) (n int, _ error) {
	err := s.ask(ctx, "drain", func(ctx context.Context) (err error) {
		n, err = s.inner.DrainPermits(ctx)
		return err
	})
	return n, err
}

// AvailablePermits returns how many permits are available: 0 if the semaphore does not exist.
func (s *Semaphore) AvailablePermits(ctx context.Context) (n int, _ error) {
	err := s.ask(ctx, "count permits of", func(ctx context.Context) (err error) {
		n, err = s.inner.AvailablePermits(ctx)
		return err
	})
	return n, err
}
