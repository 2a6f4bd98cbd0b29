package leasehold

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

type (
	// Examination is what Examine has found out.
	Examination = driver.Examination
	// Place is somewhere locks are kept: a server, a node, a file.
	Place = driver.Place
	// Finding is something that should be looked after.
	Finding = driver.Finding
	// Severity is how bad a finding is.
	Severity = driver.Severity
)

// The severities.
const (
	Note     = driver.Note     // nothing is wrong, but one should know
	Warning  = driver.Warning  // a fault that is to be expected would break a promise, or cost much time
	Critical = driver.Critical // a promise may be broken now, or locks do not work
)

// Examine asks each place where the engine keeps locks how it is, and finds what endangers its promises. It changes nothing. It returns
// ErrUnsupported on an engine that cannot tell, and otherwise the errors of List.
func (c *Client) Examine(ctx context.Context) (Examination, error) {
	if c.err != nil {
		return Examination{}, c.err
	}
	e, ok := c.engine.(driver.Examiner)
	if !ok || !c.abilities.Examine {
		return Examination{}, &Error{Op: "examine", Err: ErrUnsupported}
	}
	return clientRequest(ctx, c, "examine", e.Examine)
}
