package driver

import (
	"errors"
	"fmt"
	"time"
)

// Answers of an engine. They are compared with errors.Is.
var (
	// ErrHeld is the "no" of Take: somebody else holds, or has waited for longer. The error may be
	// a HeldError. An engine that waits for something else returns another error that wraps ErrHeld
	// and says what it waits for.
	ErrHeld = errors.New("held by another owner")

	// ErrNotHeld is the "no" of Renew, Release, Downgrade and ForceRelease: the owner
	// (or the holder with that token) does not hold the name.
	ErrNotHeld = errors.New("not held by this owner")

	// ErrNotSet is the answer of a Latcher for a latch that was never set, or whose TTL has passed.
	ErrNotSet = errors.New("latch is not set")

	// ErrTooManyWaiters is the answer to a Take with Join that was refused because the queue has no room:
	// Request.MaxWaiters owners wait already. The owner neither holds nor waits.
	ErrTooManyWaiters = Permanent(errors.New("the queue is full"))

	// ErrUnsupported is the answer to a call that the engine does not support. Nothing was sent.
	ErrUnsupported = Permanent(errors.New("the engine cannot do this"))

	// ErrInvalid is the answer to a call with a value that the engine cannot use, such as a name. The error says why,
	// and wraps this one. Nothing was sent.
	ErrInvalid = Permanent(errors.New("a value is not allowed"))

	// ErrSilent says in a Vote or a Server that the server did not answer in time.
	ErrSilent = errors.New("no answer")

	// ErrNotTogether is the answer of an AllTaker for names that it can never take in one step, free or
	// not: because they are kept on different servers, for example, or are too many. Nothing was
	// sent that could have an effect.
	ErrNotTogether = NoEffect(errors.New("the names cannot be taken in one step"))
)

// HeldError is an ErrHeld that also says when the first lease ends.
type HeldError struct {
	// Left is the time until the earliest lease ends, unless it is renewed or released; negative if
	// no lease ends.
	Left time.Duration

	// Lingers says that the holder may not be using the lock, and lets go of it if somebody joins the queue.
	Lingers bool
}

// Error implements error.
func (e *HeldError) Error() string {
	if e.Left < 0 {
		return ErrHeld.Error() + ", without an end"
	}
	return fmt.Sprintf("%v, for another %v unless it is renewed", ErrHeld, e.Left)
}

// Unwrap returns ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }

// NoEffect marks err as the error of a request that certainly has had no effect and will have none.
// The request may be tried again. NoEffect(nil) is nil.
func NoEffect(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err}
}

// Permanent marks err as NoEffect does, and also says that the same error will come back if the
// request is repeated: missing rights, a corrupt file, a wrong type at the key. The core gives up
// at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, permanent: true}
}

// HadNoEffect reports whether err, an error of an engine, says for sure that the request had no
// effect: err is a "no", or is marked with NoEffect or Permanent.
func HadNoEffect(err error) bool {
	switch {
	case err == nil:
		return false
	case IsNo(err):
		return true
	}
	var m *marked
	return errors.As(err, &m)
}

// IsPermanent reports whether err is marked with Permanent.
func IsPermanent(err error) bool {
	var m *marked
	return errors.As(err, &m) && m.permanent
}

// IsNo reports whether err is one of the definite answers ErrHeld, ErrTooManyWaiters, ErrNotHeld and
// ErrNotSet.
func IsNo(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrTooManyWaiters) || errors.Is(err, ErrNotHeld) ||
		errors.Is(err, ErrNotSet)
}

// Spent marks err, an error of Take, Wait or TakeAll, to say that the engine has named the owner in
// a release of its own, answered or not, or may yet do so. The release may arrive at any later
// time, so the owner must never be used in a take again: the core goes on with another owner
// at the same [Request.Place]. The core also releases the spent owner, unless err is marked with
// NoEffect as well. Spent(nil) is nil.
func Spent(err error) error {
	if err == nil {
		return nil
	}
	return &spent{err}
}

// IsSpent reports whether err is marked with Spent.
func IsSpent(err error) bool {
	var s *spent
	return errors.As(err, &s)
}

// KnownHeld marks err, an error of Take, to say that the server answered before, in the same call, that the name is
// held: the request that failed came after that answer. If the call ends here, it fails as "held" rather than
// "unavailable". If it may go on, it counts as a waiter. KnownHeld(nil) is nil.
func KnownHeld(err error) error {
	if err == nil {
		return nil
	}
	return &knownHeld{err}
}

// IsKnownHeld reports whether err is ErrHeld, or is marked with KnownHeld.
func IsKnownHeld(err error) bool {
	var k *knownHeld
	return errors.Is(err, ErrHeld) || errors.As(err, &k)
}

type knownHeld struct{ err error }

func (k *knownHeld) Error() string { return k.err.Error() }
func (k *knownHeld) Unwrap() error { return k.err }

type spent struct{ err error }

func (s *spent) Error() string { return s.err.Error() }
func (s *spent) Unwrap() error { return s.err }

type marked struct {
	err       error
	permanent bool
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }
