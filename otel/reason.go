package leaseholdotel

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold"
)

// reasons are words for the errors of calls: those by which metrics count them.
var reasons = []struct {
	err  error
	word string
}{
	{leasehold.ErrHeld, "held"},
	{leasehold.ErrTimeout, "timeout"},
	{leasehold.ErrUnavailable, "unavailable"},
	{leasehold.ErrClosed, "closed"},
	{leasehold.ErrReleased, "ended"},
	{leasehold.ErrLost, "ended"},
	{leasehold.ErrMaxHold, "ended"},
	{leasehold.ErrCrowded, "crowded"},
	{leasehold.ErrFull, "full"},
	{leasehold.ErrUpgrade, "upgrade"},
	{context.DeadlineExceeded, "deadline"},
	{context.Canceled, "cancelled"},
}

// reason returns the word for an error of a call. What lies behind it may be anything, even an error of another lease.
func reason(err error) string {
	said := err
	if e, ok := errors.AsType[*leasehold.Error](err); ok {
		said = e.Err
	}
	for _, r := range reasons {
		if errors.Is(said, r.err) {
			return r.word
		}
	}
	return "other"
}

// text is what the status of a span says about an error. Without names, that is only what kind of error it is.
func (o *Observer) text(err error) string {
	if o.names {
		return err.Error()
	}
	if e, ok := errors.AsType[*leasehold.Error](err); ok {
		return e.Err.Error()
	}
	return reason(err)
}

// outcome returns the word for the error of a release.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, leasehold.ErrLost):
		return "lost"
	}
	return "unknown"
}
