package driver

import (
	"fmt"
	"time"
)

// GrantsClosedError says that an engine grants nothing to anybody for a while, because it may have forgotten leases
// that still run. Renewals and releases go on meanwhile. It is the error of a take that was refused for this reason
// alone, marked with [NoEffect]; a request whose owner has joined the queue gets it by [GrantsClosedError.AsHeld].
type GrantsClosedError struct {
	// Open is roughly when leases are granted again.
	Open time.Time
	// Unseen is set if there is no record of earlier use: what keeps the locks is new, or has lost its data.
	Unseen bool
	// Reason completes the sentence "grants are closed, because ...".
	Reason string
	// Fix says what to do if no lock is missing, or is empty.
	Fix string
}

// Error implements error.
func (e *GrantsClosedError) Error() string {
	text := fmt.Sprintf("grants are closed until %s, because %s", formatOpen(e.Open, time.Now()), e.Reason)
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// formatOpen formats the time at which grants open: in the local zone, and with a date if it is not soon.
func formatOpen(open, now time.Time) string {
	if open.Sub(now) > 12*time.Hour {
		return open.Local().Format(time.DateTime)
	}
	return open.Local().Format(time.TimeOnly)
}

// AsHeld returns the same as an [ErrHeld], for an owner that waits until grants open. Its text does not say that
// somebody holds the name, since that is not known.
func (e *GrantsClosedError) AsHeld() error { return closedHeld{e} }

type closedHeld struct{ *GrantsClosedError }

func (h closedHeld) Unwrap() []error { return []error{ErrHeld, h.GrantsClosedError} }
