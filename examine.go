package leasehold

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// Examine asks each place where the engine keeps locks how it is, and finds what endangers its promises. It changes nothing. The findings are those of the
// engine, and what can be told of any engine: places that do not answer, that grant nothing for a while, whose clocks are wrong, or that are slow for
// the client's default ttl (WithDefaults); and, where a listing need not search, names for which nearly as many wait as may (WithMaxWaiters). The worst come first.
//
// It returns ErrUnsupported on an engine that cannot tell, and otherwise the errors of List.
func (c *Client) Examine(ctx context.Context) (Examination, error) {
	if c.err != nil {
		return Examination{}, c.err
	}
	e, ok := c.engine.(driver.Examiner)
	if !ok || !c.abilities.Examine {
		return Examination{}, &Error{Op: "examine", Err: ErrUnsupported}
	}
	x, err := clientRequest(ctx, c, "examine", e.Examine)
	if err != nil {
		return Examination{}, err
	}
	x.Findings = append(x.Findings, c.queues(ctx, x.Places)...)
	return assess(x, c.abilities.Votes, c.defaults.ttl), nil
}

// someNames is for how many names Examine looks how many wait.
const someNames = 1000

// queues finds names for which nearly as many wait as may. It looks where that is one request, and if all places answer.
func (c *Client) queues(ctx context.Context, places []Place) (found []Finding) {
	if !c.abilities.Waiters || c.abilities.Walk || slices.ContainsFunc(places, func(p Place) bool { return p.Err != nil }) {
		return nil
	}
	all, err := c.List(ctx, Query{Limit: someNames})
	if err != nil {
		return nil // whatever keeps from listing is found by the engine
	}
	for _, s := range all {
		if s.Waiting < c.maxWaiters-c.maxWaiters/10 {
			continue
		}
		found = append(found, Finding{
			Severity: Warning, Code: "long-queue",
			Text: fmt.Sprintf("%d wait for the %s %q, and with a limit of %d (WithMaxWaiters, --max-waiters) those who come then are sent away", s.Waiting, s.Kind, s.Name, c.maxWaiters),
			Mend: "find out who keeps it for so long (leasehold inspect), or why so many want it; or allow more",
		})
	}
	return found
}

// assess adds what is found in the places of any engine. With majority, a majority of those that vote is enough; else each of them is needed.
func assess(x Examination, majority bool, ttl time.Duration) Examination {
	j := assessment{places: x.Places, majority: majority, ttl: ttl, findings: x.Findings}
	j.silent()
	j.closed()
	j.clocks()
	j.slow()
	return Examination{Places: x.Places, Findings: j.sorted()}
}
