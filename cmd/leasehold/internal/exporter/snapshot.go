package exporter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// snapshot is the result of one poll. Fields are nil if the poll could not find them out, or if the engine does not
// support them.
type snapshot struct {
	at   driver.Instant // when the poll ended
	took time.Duration
	err  error // the first error; nil if everything worked

	held     map[holderClass]int
	waiting  map[driver.Kind]int
	leaks    map[admin.LeakSort]int
	nodes    []admin.Server
	findings map[findingClass]int
}

// holderClass is the group in which a holder is counted.
type holderClass struct {
	kind     driver.Kind
	resource string
}

// findingClass is the group in which a finding is counted.
type findingClass struct {
	severity admin.Severity
	code     string
}

// takeSnapshot asks the engine for everything, and ends soon after ctx. It begins with the nodes: if the rest fails,
// they matter most.
func takeSnapshot(ctx context.Context, c *admin.Client, prefix string, resources *resources) *snapshot {
	s := new(snapshot)
	s.noteError(s.examineNodes(ctx, c))
	s.noteError(s.countHolders(ctx, c, prefix, resources))
	if err := s.countLeaks(ctx, c, prefix); !s.isNodeSilent() {
		s.noteError(err)
	}
	return s
}

// isNodeSilent reports whether a node does not answer. If the others suffice for locking and listing, only the leaks of
// the silent one are unknown, and the poll counts as successful.
func (s *snapshot) isNodeSilent() bool {
	return slices.ContainsFunc(s.nodes, func(p admin.Server) bool { return p.Err != nil })
}

// noteError keeps the first error. An operation that the engine does not support is no failure.
func (s *snapshot) noteError(err error) {
	if err != nil && s.err == nil && !errors.Is(err, leasehold.ErrUnsupported) {
		s.err = err
	}
}

func (s *snapshot) examineNodes(ctx context.Context, c *admin.Client) error {
	found, err := c.Examine(ctx)
	if err != nil {
		return err
	}
	s.nodes, s.findings = found.Servers, map[findingClass]int{}
	for _, f := range found.Findings {
		s.findings[findingClass{f.Severity, f.Code}]++
	}
	return nil
}

func (s *snapshot) countHolders(ctx context.Context, c *admin.Client, prefix string, resources *resources) error {
	// Zeros are reported, too, so that a rule can tell "none" from "not known".
	held := map[holderClass]int{{driver.Lock, defaultResource}: 0, {driver.Semaphore, defaultResource}: 0}
	waiting := map[driver.Kind]int{driver.Lock: 0, driver.Semaphore: 0, driver.Latch: 0}
	for status, err := range c.All(ctx, admin.Query{Prefix: prefix}) {
		if err != nil {
			return err
		}
		waiting[status.Kind] += status.Waiting
		for _, h := range status.Holders {
			held[holderClass{status.Kind, resources.resourceOf(h.Holder)}]++
		}
	}
	s.held, s.waiting = held, waiting
	return nil
}

func (s *snapshot) countLeaks(ctx context.Context, c *admin.Client, prefix string) error {
	leaks := map[admin.LeakSort]int{}
	for _, sort := range driver.LeakSorts {
		leaks[sort] = 0
	}
	for leak, err := range c.Leaks(ctx, admin.Query{Prefix: prefix}) {
		if err != nil {
			return err
		}
		leaks[leak.Sort] += max(leak.Count, 1)
	}
	s.leaks = leaks
	return nil
}
