package fence

import (
	"errors"
	"fmt"
	"strconv"
)

// Errors of this package, for errors.Is.
var (
	// ErrStale says that the resource has seen a larger token, so the lease with this token has ended. errors.As finds
	// the [*StaleError]. Nothing has been changed. Do not try again: take the lock again, and begin again with reading.
	ErrStale = errors.New("the token is too old")

	// ErrInvalid says that a value is not allowed. errors.As finds the [*ValueError]. Nothing has been sent.
	ErrInvalid = errors.New("invalid value")

	// ErrNoRow says that the table has no row with that key, so there is no mark to raise. Insert the row, or keep the
	// mark in a [Table].
	ErrNoRow = errors.New("there is no row with this key")

	// ErrNotUnique says that several rows have that key. Roll back, and use a unique column.
	ErrNotUnique = errors.New("more than one row has this key")

	// ErrWritten says that the row was already written with this same token. If the answer to a [Versioned.Write] was
	// lost and this is the same write, it has taken effect. If this is another write, it has not: a lease can write a
	// row once.
	ErrWritten = errors.New("already written with this token")

	// ErrUnknown says that the store did not confirm a change, so it may have taken effect or not. Read what is there,
	// or repeat the change with the same token if it may be done twice.
	ErrUnknown = errors.New("the store has not confirmed the change: it may have taken effect")

	// ErrUnavailable says that a [Gate] could not raise the mark. It wraps the reason, too. The work has not begun.
	ErrUnavailable = errors.New("the mark could not be raised, so the work has not begun")

	// ErrNoToken says that a request that may change something has no token. Put the lease into its context with
	// [WithToken].
	ErrNoToken = errors.New("no fencing token: send it as Fencing-Token, " +
		"as a fence.Transport does with that of fence.WithToken")
)

// StaleError says that a token came too late. It wraps ErrStale.
type StaleError struct {
	Name string // of the mark
	Have uint64 // the mark: the largest token that the resource has seen
	Want uint64 // the token that is too old
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: token %d for %q is too old, %d has been there: stop, and take the lock again",
		e.Want, e.Name, e.Have)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

// ValueError says which value is not allowed and what is allowed. It wraps ErrInvalid.
type ValueError struct {
	Field   string // as in "token"
	Value   string // as given, shortened
	Allowed string // as in "1 to 9007199254740991"
}

// Error implements error.
func (e *ValueError) Error() string {
	return fmt.Sprintf("fence: %s %s is not allowed: it must be %s", e.Field, e.Value, e.Allowed)
}

// Unwrap returns ErrInvalid.
func (e *ValueError) Unwrap() error { return ErrInvalid }

func invalid(field, value, allowed string) *ValueError {
	return &ValueError{Field: field, Value: strconv.Quote(shortened(value)), Allowed: allowed}
}

// missing is the error for something that must be given and was not.
func missing(field, allowed string) *ValueError {
	return &ValueError{Field: field, Value: "nil", Allowed: allowed}
}
