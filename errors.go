package leasehold

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
)

// Errors of this package, for errors.Is. Every error that a call returns is one of
// these or an error of the caller's context, wrapped in an [*Error] or a [*ValueError].
var (
	// ErrHeld: a try found the name held by somebody else, or others waiting for it.
	ErrHeld = errors.New("held by somebody else")

	// ErrTimeout: the limit set with WaitLimit has passed, and the engine has said meanwhile that it is held. If nobody has said so, it is
	// ErrUnavailable. The end of the caller's own context is reported as context.Canceled or context.DeadlineExceeded instead; the
	// latter is an ErrUnavailable as well if nobody has said that it is held.
	ErrTimeout = errors.New("not granted within the wait limit")

	// ErrCrowded: as many wait for the name as WithMaxWaiters allows. The caller does not wait.
	ErrCrowded = errors.New("too many wait for it")

	// ErrFull: the client has and asks for as many leases as WithMaxLeases allows. Nothing has been sent to the engine.
	ErrFull = errors.New("the client has too many leases")

	// ErrUnavailable: the engine did not answer, or answered with an error; errors.As finds the
	// engine's own error behind it. The caller has no lease, and whether others have one is not known. If a request may have taken effect all
	// the same, it is being undone in the background.
	ErrUnavailable = errors.New("engine not available")

	// ErrLost: the lease is over although it was not released: the engine said that somebody
	// else has it or that it has expired, or it could not be renewed before its
	// deadline. Whatever the work under it has written since may collide with
	// others.
	ErrLost = errors.New("lease lost")

	// ErrReleased: the lease has been released. It is the cause of the lease's context, and the
	// answer of calls that come later.
	ErrReleased = errors.New("lease released")

	// ErrMaxHold: the lease has been ended because it was held for as long as MaxHold allows.
	ErrMaxHold = errors.New("lease held for the longest time allowed")

	// ErrUnknown: the engine did not confirm a release. The lease is over for the caller either
	// way; the release is repeated in the background, and if the engine stays away
	// the lock is free when its ttl has passed.
	ErrUnknown = errors.New("release not confirmed by the engine")

	// ErrUnsupported: the engine has no such ability, as its documentation says. Use
	// another engine, or another kind of lock.
	ErrUnsupported = errors.New("not supported by this engine")

	// ErrUpgrade: the caller holds a read lock on the name and asks for the write lock. Two who
	// do so would wait for each other for ever; release the read lock first.
	ErrUpgrade = errors.New("a read lock cannot become a write lock: release it first")

	// ErrNested: a write lock that has been entered more than once cannot become a read lock, since the others count on
	// it. Release the inner leases first.
	ErrNested = errors.New("the lock is held by more than one lease: release the inner ones first")

	// ErrClosed: the client has been closed.
	ErrClosed = errors.New("client closed")

	// ErrInvalid: a value that was passed in is not allowed. errors.As finds the *ValueError, which
	// says which and why. Nothing has been sent to the engine.
	ErrInvalid = errors.New("invalid value")

	// ErrNotSet: the latch was never set, or has been forgotten because nobody counted it
	// down for as long as its TTL.
	ErrNotSet = errors.New("latch is not set")

	// ErrNoLeader: nobody leads at the moment.
	ErrNoLeader = errors.New("no leader")
)

// Error says which call failed on what, and why.
type Error struct {
	Op   string // the call, as in "lock"
	Kind Kind   // of the name
	Name string // what was to be locked
	Err  error  // one of the errors of this package, or of the caller's context
	// Cause is what lies behind Err: an error of the engine, the cause of the
	// caller's context, or nil.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	s := "leasehold: " + e.Op
	if e.Name != "" {
		if kind := e.Kind.String(); !strings.HasSuffix(e.Op, kind) {
			s += " " + kind
		}
		s += " " + strconv.Quote(e.Name)
	}
	s += ": " + e.Err.Error()
	if e.Cause != nil && e.Cause != e.Err {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns Err and Cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// ValueError says which value is not allowed and what is. It is an ErrInvalid.
type ValueError struct {
	Field   string // as in "TTL"
	Value   string // as given, shortened
	Allowed string // as in "100ms to 24h0m0s"
}

// Error implements error.
func (e *ValueError) Error() string {
	return fmt.Sprintf("leasehold: %s %s is not allowed: it must be %s", e.Field, e.Value, e.Allowed)
}

// Unwrap returns ErrInvalid.
func (e *ValueError) Unwrap() error { return ErrInvalid }

func invalid(field string, value any, allowed string) *ValueError {
	text := fmt.Sprint(value)
	const most = 64
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if _, ok := value.(string); ok {
		text = strconv.Quote(text)
	}
	return &ValueError{Field: field, Value: text, Allowed: allowed}
}

// fromEngine turns the error of a request into what a caller sees.
func fromEngine(err error) (sentinel, cause error) {
	switch {
	case errors.Is(err, driver.ErrHeld):
		return ErrHeld, nil
	case errors.Is(err, driver.ErrNotHeld):
		return ErrLost, nil
	case errors.Is(err, driver.ErrNotSet):
		return ErrNotSet, nil
	}
	return ErrUnavailable, err
}
