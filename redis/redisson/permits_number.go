package redisson

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// PermitExpirableSemaphore is what RPermitExpirableSemaphore in Redisson has besides taking permits, which
// [driver.Engine] does: how many permits there are, and permits by their ids.
//
// It is safe for concurrent use. If its name cannot be used, each call returns a *[NameError]. Each call sends one
// request. After an error without [driver.NoEffect] it may have had its effect.
type PermitExpirableSemaphore struct {
	e    *Engine
	name string
	err  error // the name cannot be used
}

// PermitExpirableSemaphore returns the semaphore with a name.
func (e *Engine) PermitExpirableSemaphore(name string) *PermitExpirableSemaphore {
	raw, err := e.name(driver.Key{Kind: driver.Semaphore, Name: name})
	if !argument.IsText(name) {
		err = &NameError{name, "it must be " + argument.AllowedText}
	}
	return &PermitExpirableSemaphore{e, raw, err}
}

// PermitIDError says that a text is not the id of a permit. It is a [driver.ErrInvalid]. Nothing was sent.
type PermitIDError struct{ ID string }

// Error implements error.
func (e *PermitIDError) Error() string {
	return fmt.Sprintf("redisson: %s is no id of a permit: give the 32 hexadecimal digits that acquire in Java has "+
		"returned", argument.Describe(e.ID))
}

// Unwrap returns driver.ErrInvalid.
func (e *PermitIDError) Unwrap() error { return driver.ErrInvalid }

// LeaseTimeError says that a lease time is not allowed. It is a [driver.ErrInvalid]. Nothing was sent.
type LeaseTimeError struct{ LeaseTime time.Duration }

// Error implements error.
func (e *LeaseTimeError) Error() string {
	return fmt.Sprintf("redisson: lease time %v: give one from %v to %v", e.LeaseTime, leastLease, longestLease)
}

// Unwrap returns driver.ErrInvalid.
func (e *LeaseTimeError) Unwrap() error { return driver.ErrInvalid }

// The shortest and the longest lease, as in package leasehold.
const leastLease, longestLease = 100 * time.Millisecond, 24 * time.Hour

// check refuses what cannot be sent.
func (s *PermitExpirableSemaphore) check() error {
	if s.err == nil && s.e.connections.IsClosed() {
		return errClosed
	}
	return s.err
}

// keys are those of its scripts.
func (s *PermitExpirableSemaphore) keys(more ...string) []string {
	return permitKeys(s.name, append([]string{permitChannel(s.name)}, more...)...)
}

// change sets or adds a number of permits.
func (s *PermitExpirableSemaphore) change(ctx context.Context, what string, n, least int) (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if n < least || n > math.MaxInt32 {
		return false, &PermitError{n, least}
	}
	answer, err := readInteger(s.e.run(ctx, func(publish string) call {
		return call{permitsSet, s.keys(permitNumbers(s.name), latchHash(s.name)), permitArgs(publish, what, n)}
	}))
	return answer == 1, err
}

// TrySetPermits sets how many permits are available, which may be 0, and reports whether it did: if a number is set,
// nothing changes.
func (s *PermitExpirableSemaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	return s.change(ctx, "try", n, 0)
}

// SetPermits sets how many permits there are, those that are held among them. If more are held, less than 0 are
// available until they come back.
func (s *PermitExpirableSemaphore) SetPermits(ctx context.Context, n int) error {
	_, err := s.change(ctx, "set", n, 0)
	return err
}

// AddPermits makes n more permits available, or fewer if n is below zero.
func (s *PermitExpirableSemaphore) AddPermits(ctx context.Context, n int) error {
	_, err := s.change(ctx, "add", n, -math.MaxInt32)
	return err
}

// CountPermits returns how many permits are available, and how many are held. The first is below zero if more are held
// than there should be.
func (s *PermitExpirableSemaphore) CountPermits(ctx context.Context) (available, held int, _ error) {
	if err := s.check(); err != nil {
		return 0, 0, err
	}
	answer, err := s.e.run(ctx, func(publish string) call {
		return call{permitsCount, s.keys(), permitArgs(publish)}
	})
	if err != nil {
		return 0, 0, err
	}
	counts, err := replies.Integers(answer, 2)
	if err != nil {
		return 0, 0, err
	}
	return int(counts[0]), int(counts[1]), nil
}

// TryRelease gives back the permit with an id, whoever has acquired it, and reports whether it was held.
func (s *PermitExpirableSemaphore) TryRelease(ctx context.Context, id string) (bool, error) {
	return s.byID(ctx, id, 0)
}

// UpdateLeaseTime makes the lease of the permit with an id end after d from now, and reports whether it is held. The
// lease of a permit that a program in Go holds is never shortened, as that program relies on it.
func (s *PermitExpirableSemaphore) UpdateLeaseTime(ctx context.Context, id string, d time.Duration) (bool, error) {
	if d < leastLease || d > longestLease {
		return false, &LeaseTimeError{d}
	}
	return s.byID(ctx, id, luascript.Millis(d))
}

// LeaseTime returns how much is left of the lease of the permit with an id, and whether it is held. It is
// [driver.NoTTL] if it has no end.
func (s *PermitExpirableSemaphore) LeaseTime(
	ctx context.Context, id string,
) (left time.Duration, held bool, _ error) {
	raw, err := s.checkID(id)
	if err != nil {
		return 0, false, err
	}
	answer, err := s.e.run(ctx, func(string) call { return call{permitsLease, permitKeys(s.name), permitArgs(raw)} })
	if answer == nil || err != nil {
		return 0, false, err
	}
	ms, err := readInteger(answer, nil)
	if ms < 0 {
		return driver.NoTTL, err == nil, err
	}
	return luascript.Duration(ms), err == nil, err
}

// checkID returns the bytes of an id.
func (s *PermitExpirableSemaphore) checkID(id string) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != permitSize {
		return "", &PermitIDError{id}
	}
	return string(raw), nil
}

func (s *PermitExpirableSemaphore) byID(ctx context.Context, id string, lease int64) (bool, error) {
	raw, err := s.checkID(id)
	if err != nil {
		return false, err
	}
	answer, err := readInteger(s.e.run(ctx, func(publish string) call {
		return call{permitsByID, s.keys(), permitArgs(publish, raw, lease)}
	}))
	return answer == 1, err
}
