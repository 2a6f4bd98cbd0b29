package leaseholdprometheus

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold"
)

// reason is why a call got no lease.
type reason int

const (
	refused     reason = iota // a try found it held
	timeout                   // the wait limit
	deadline                  // the deadline of the caller's context
	cancelled                 // the caller's context was cancelled
	unavailable               // the engine did not answer, or not well
	closed                    // the client was closed
	ended                     // the lease to be entered again is over
	crowded                   // as many wait as may
	full                      // the client has as many leases as it may
	upgrade                   // a read lock was to become a write lock
	otherwise                 // none of these

	reasons = otherwise + 1
)

// String is the value of the label reason.
func (r reason) String() string {
	return [reasons]string{"held", "timeout", "deadline", "cancelled", "unavailable", "closed", "ended", "crowded", "full", "upgrade", "other"}[r]
}

// reasonOf tells the reason for an error of a call.
func reasonOf(err error) reason {
	if e, ok := errors.AsType[*leasehold.Error](err); ok {
		err = e.Err // what the caller is told; the causes behind it may be anything, even an error of another lease
	}
	switch {
	case errors.Is(err, leasehold.ErrHeld):
		return refused
	case errors.Is(err, leasehold.ErrTimeout):
		return timeout
	case errors.Is(err, leasehold.ErrUnavailable):
		return unavailable
	case errors.Is(err, leasehold.ErrClosed):
		return closed
	case errors.Is(err, leasehold.ErrReleased), errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrMaxHold):
		return ended
	case errors.Is(err, leasehold.ErrCrowded):
		return crowded
	case errors.Is(err, leasehold.ErrFull):
		return full
	case errors.Is(err, leasehold.ErrUpgrade):
		return upgrade
	case errors.Is(err, context.DeadlineExceeded):
		return deadline
	case errors.Is(err, context.Canceled):
		return cancelled
	}
	return otherwise
}

// outcome is what came of a renewal or a release.
type outcome int

const (
	ok      outcome = iota // confirmed by the engine
	gone                   // the engine says that the lease was over
	unknown                // no answer, so it may be either

	outcomes = unknown + 1
)

// String is the value of the label outcome.
func (o outcome) String() string { return [outcomes]string{"ok", "lost", "unknown"}[o] }

// outcomeOf tells what the error of a renewal or a release stands for.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return ok
	case errors.Is(err, leasehold.ErrLost):
		return gone
	}
	return unknown
}
