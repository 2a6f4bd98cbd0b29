package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

type (
	// Examination is the result of Examine.
	Examination = driver.Examination
	// Server is a server where locks are kept; on sqlite it is the file.
	Server = driver.Server
	// Finding is a problem that Examine has found, and how to fix it.
	Finding = driver.Finding
	// Severity is how bad a finding is.
	Severity = driver.Severity
)

// The severities of findings.
const (
	Note     = driver.Note     // nothing is wrong, but it is good to know
	Warning  = driver.Warning  // a fault that is likely to happen would break a promise, or take much time
	Critical = driver.Critical // a promise may be broken now, or locks do not work
)

// Examine asks each server of the engine for its state, and finds what endangers the promises. It changes nothing. The
// findings are those of the engine, and those that any engine can have: servers that do not answer, that grant nothing
// for a while, whose clocks are wrong, or that are slow for the usual ttl (WithTTL). It also finds names that have
// nearly as many waiters as WithMaxWaiters says, unless a listing has to search for them for more than a second. The
// worst findings come first.
//
// It returns leasehold.ErrUnsupported if the engine cannot be examined.
func (c *Client) Examine(ctx context.Context) (Examination, error) {
	if c.err != nil {
		return Examination{}, c.err
	}
	x, err := send(ctx, c, call{op: "examine"}, c.operator.Examine)
	if err != nil {
		return Examination{}, err
	}
	x.Findings = append(x.Findings, c.findLongQueues(ctx, x.Servers)...)
	return assessServers(x, c.ttl), nil
}

const (
	queueSampleSize = 1000        // how many names Examine checks for long queues
	queueSearchTime = time.Second // how long it may search for them where a listing is a search
)

// findLongQueues finds names that have nearly as many waiters as are allowed. It does so only if all servers answer.
func (c *Client) findLongQueues(ctx context.Context, servers []Server) (found []Finding) {
	failed := func(p Server) bool { return p.Err != nil }
	if !c.abilities.Waiters || slices.ContainsFunc(servers, failed) {
		return nil
	}
	if c.abilities.Walk {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, queueSearchTime)
		defer cancel()
	}
	all, err := c.List(ctx, Query{Limit: queueSampleSize})
	if err != nil {
		return nil // the engine's own findings tell why it cannot list, unless it took too long
	}
	for _, s := range all {
		if s.Waiting < c.maxWaiters-c.maxWaiters/10 {
			continue
		}
		found = append(found, Finding{
			Severity: Warning, Code: "long-queue",
			Text: fmt.Sprintf("%d callers wait for the %s %q, and with a limit of %d (WithMaxWaiters, --max-waiters) "+
				"further callers are refused", s.Waiting, s.Kind, s.Name, c.maxWaiters),
			Fix: "find out who holds it for so long (leasehold inspect), or why so many want it; or raise the limit",
		})
	}
	return found
}

// assessServers adds the findings that any engine can have.
func assessServers(x Examination, ttl time.Duration) Examination {
	j := assessment{servers: x.Servers, majority: x.Majority, ttl: ttl, findings: x.Findings}
	j.judgeSilent()
	j.judgeClosed()
	j.judgeClocks()
	j.judgeSlow()
	x.Findings = j.sortFindings()
	return x
}
