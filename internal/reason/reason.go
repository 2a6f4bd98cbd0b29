// Package reason has the words by which all observers tell why a call failed, and how a renewal or a release ended. So
// metrics and traces use the same words.
package reason

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold"
)

// Reason is why a call got no lease.
type Reason int

const (
	Held           Reason = iota // a try found the name held
	Timeout                      // the wait limit
	Deadline                     // the deadline of the caller's context
	Cancelled                    // the caller's context was cancelled
	Unavailable                  // the engine did not answer, or answered with an error
	Closed                       // the client was closed
	Ended                        // the lease that was to be re-entered has ended
	TooManyWaiters               // too many waiters
	Full                         // the client has as many leases as allowed
	Upgrade                      // a read lock was to become a write lock
	Other                        // none of these

	Reasons = Other + 1 // how many there are
)

var reasonWords = [Reasons]string{
	"held", "timeout", "deadline", "cancelled", "unavailable", "closed", "ended", "too_many_waiters", "full", "upgrade",
	"other",
}

// String returns the word for the reason.
func (r Reason) String() string { return reasonWords[r] }

// Of returns the reason for an error of a call that asked for a lease. What an [leasehold.Error] gives as its cause is
// not considered: it may be anything, even an error of another lease.
func Of(err error) Reason {
	if e, ok := errors.AsType[*leasehold.Error](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(err, leasehold.ErrHeld):
		return Held
	case errors.Is(err, leasehold.ErrTimeout):
		return Timeout
	case errors.Is(err, leasehold.ErrUnavailable):
		return Unavailable
	case errors.Is(err, leasehold.ErrClosed):
		return Closed
	case errors.Is(err, leasehold.ErrReleased), errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrMaxHold):
		return Ended
	case errors.Is(err, leasehold.ErrTooManyWaiters):
		return TooManyWaiters
	case errors.Is(err, leasehold.ErrFull):
		return Full
	case errors.Is(err, leasehold.ErrUpgrade):
		return Upgrade
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return Other
}
