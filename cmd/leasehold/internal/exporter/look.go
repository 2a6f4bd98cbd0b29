package exporter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// sight is what one look has found. What it could not find out, or the engine cannot tell, is nil.
type sight struct {
	at   driver.Instant // when the look ended
	took time.Duration
	err  error // what failed, and nil if all worked

	held     map[class]int
	waiting  map[leasehold.Kind]int
	leaks    map[leasehold.LeakSort]int
	nodes    []leasehold.Place
	findings map[finding]int
}

// class is what holders are counted by.
type class struct {
	kind     leasehold.Kind
	resource string
}

// finding is what findings are counted by.
type finding struct {
	severity leasehold.Severity
	code     string
}

// look asks the engine for everything, and ends soon after ctx. The nodes come first: they are what matters most when the rest fails.
func look(ctx context.Context, c *leasehold.Client, prefix string, resources *resources) *sight {
	s := new(sight)
	s.failed(s.examine(ctx, c))
	s.failed(s.list(ctx, c, prefix, resources))
	if err := s.look(ctx, c, prefix); !s.degraded() {
		s.failed(err)
	}
	return s
}

// degraded reports whether a node is silent. Where all others suffice to lock and to list, nobody can tell what was left behind on that one: the
// leaks are not known then, but the look has worked.
func (s *sight) degraded() bool {
	return slices.ContainsFunc(s.nodes, func(p leasehold.Place) bool { return p.Err != nil })
}

// failed notes what went wrong first. That an engine cannot tell is no failure.
func (s *sight) failed(err error) {
	if err != nil && s.err == nil && !errors.Is(err, leasehold.ErrUnsupported) {
		s.err = err
	}
}

func (s *sight) examine(ctx context.Context, c *leasehold.Client) error {
	found, err := c.Examine(ctx)
	if err != nil {
		return err
	}
	s.nodes, s.findings = found.Places, map[finding]int{}
	for _, f := range found.Findings {
		s.findings[finding{f.Severity, f.Code}]++
	}
	return nil
}

func (s *sight) list(ctx context.Context, c *leasehold.Client, prefix string, resources *resources) error {
	// What is never there is told as 0, so that a rule can tell "none" from "not known".
	held := map[class]int{{leasehold.KindLock, defaultResource}: 0, {leasehold.KindSemaphore, defaultResource}: 0}
	waiting := map[leasehold.Kind]int{leasehold.KindLock: 0, leasehold.KindSemaphore: 0, leasehold.KindLatch: 0}
	for status, err := range c.All(ctx, leasehold.Query{Prefix: prefix}) {
		if err != nil {
			return err
		}
		waiting[status.Kind] += status.Waiting
		for _, h := range status.Holders {
			held[class{status.Kind, resources.of(h.Holder)}]++
		}
	}
	s.held, s.waiting = held, waiting
	return nil
}

func (s *sight) look(ctx context.Context, c *leasehold.Client, prefix string) error {
	leaks := map[leasehold.LeakSort]int{}
	for _, sort := range driver.LeakSorts {
		leaks[sort] = 0
	}
	for leak, err := range c.Leaks(ctx, leasehold.Query{Prefix: prefix}) {
		if err != nil {
			return err
		}
		leaks[leak.Sort] += max(leak.Count, 1)
	}
	s.leaks = leaks
	return nil
}
