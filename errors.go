package leasehold

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
)

// Errors of this package, for use with errors.Is. Every error that a call returns is one of these, or an error of the
// caller's context, wrapped in an [*Error] or a [*ValueError].
var (
	// ErrHeld: a try found that somebody else holds the name, or that others wait for it.
	ErrHeld = errors.New("held by somebody else")

	// ErrTimeout: WaitLimit has passed, and the engine has answered meanwhile that the name is held. If it has not
	// answered at all, the error is ErrUnavailable. When the caller's own context ends, the error is context.Canceled
	// or context.DeadlineExceeded instead; the latter is also an ErrUnavailable if the engine has not answered.
	ErrTimeout = errors.New("not granted within the wait limit")

	// ErrTooManyWaiters: as many callers wait for the name as WithMaxWaiters allows. This caller does not wait.
	ErrTooManyWaiters = errors.New("too many waiters")

	// ErrFull: the client has and asks for as many leases as WithMaxLeases allows. Nothing has been sent to the engine.
	ErrFull = errors.New("the client has too many leases")

	// ErrUnavailable: the engine did not answer, or answered with an error; errors.As finds the engine's own error. The
	// caller has no lease, and it is not known whether others have one. If a request may have taken effect, it is
	// undone in the background.
	ErrUnavailable = errors.New("engine not available")

	// ErrLost: the lease has ended without being released. The engine said that somebody else has it or that it has
	// expired, or it could not be renewed before its deadline. Anything written under it since then may collide with
	// the writes of others.
	ErrLost = errors.New("lease lost")

	// ErrReleased: the lease has been released. It is the cause of the lease's context, and the error of later calls.
	ErrReleased = errors.New("lease released")

	// ErrMaxHold: the lease has ended because it was held for as long as MaxHold allows.
	ErrMaxHold = errors.New("lease held for the longest time allowed")

	// ErrUnknown: the engine did not confirm a release. The lease has ended for the caller in any case. The release is
	// repeated in the background; if the engine stays unavailable, the lock becomes free when its ttl has passed.
	ErrUnknown = errors.New("release not confirmed by the engine")

	// ErrUnsupported: the engine lacks this ability, as its documentation says. Use another engine, or another kind of
	// lock.
	ErrUnsupported = errors.New("not supported by this engine")

	// ErrUpgrade: the caller holds a read lock on the name and asks for the write lock. Two callers that do so would
	// wait for each other for ever. Release the read lock first.
	ErrUpgrade = errors.New("a read lock cannot become a write lock: release it first")

	// ErrNested: a write lock that has been entered more than once cannot become a read lock, because the other leases
	// rely on it. Release the inner leases first.
	ErrNested = errors.New("the lock is held by more than one lease: release the inner ones first")

	// ErrClosed: the client has been closed.
	ErrClosed = errors.New("client closed")

	// ErrInvalid: an argument is not allowed, or the engine cannot use the name. errors.As finds the *ValueError, or
	// the engine's own error, which says why. Nothing has been sent.
	ErrInvalid = errors.New("invalid value")

	// ErrNotSet: the latch was never set, or it was forgotten because nobody counted it down for as long as its TTL.
	ErrNotSet = errors.New("latch is not set")

	// ErrNoLeader: there is no leader at the moment.
	ErrNoLeader = errors.New("no leader")
)

// GrantsClosedError says that an engine grants nothing to anybody for a while, because it may have forgotten leases
// that still run: a server was restarted, for example. errors.As finds it in the ErrUnavailable of a try, in the
// ErrTimeout of a call that has waited for grants to open, and in Waiting.Reason.
type GrantsClosedError = driver.GrantsClosedError

// Error says which call failed, on which name, and why.
type Error struct {
	Op   string      // the call, such as "lock"
	Kind driver.Kind // of the name
	Name string      // the name that the call was about; empty if it was about none
	Err  error       // one of the errors of this package, or of the caller's context
	// Cause is the reason for Err: an error of the engine, the cause of the caller's context, or nil.
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
	_, closed := errors.AsType[*GrantsClosedError](e.Cause)
	if !closed || e.Err != ErrUnavailable { // an engine whose grants are closed does answer
		s += ": " + e.Err.Error()
	}
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

// ValueError says which value is not allowed, and what is allowed. It is an ErrInvalid.
type ValueError struct {
	Field   string // such as "TTL"
	Value   string // the value, shortened
	Allowed string // such as "100ms to 24h0m0s"
}

// Error implements error.
func (e *ValueError) Error() string {
	return fmt.Sprintf("leasehold: %s %s is not allowed: it must be %s", e.Field, e.Value, e.Allowed)
}

// Unwrap returns ErrInvalid.
func (e *ValueError) Unwrap() error { return ErrInvalid }

func newValueError(field string, value any, allowed string) *ValueError {
	return &ValueError{Field: field, Value: argument.Describe(value), Allowed: allowed}
}

// fromEngine turns the error of a request into the error that a caller sees.
func fromEngine(err error) (sentinel, cause error) {
	switch {
	case errors.Is(err, driver.ErrHeld):
		return ErrHeld, nil
	case errors.Is(err, driver.ErrNotHeld):
		return ErrLost, nil
	case errors.Is(err, driver.ErrNotSet):
		return ErrNotSet, nil
	case errors.Is(err, driver.ErrUnsupported): // by an engine that wraps another
		return ErrUnsupported, nil
	case errors.Is(err, driver.ErrInvalid):
		return ErrInvalid, err
	}
	return ErrUnavailable, err
}
