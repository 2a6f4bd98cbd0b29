package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// Record implements [driver.Operator]. A removal is recorded when a majority of the nodes has it.
func (e *Engine) Record(ctx context.Context, r driver.Removal) error {
	f := e.newFanOut()
	for _, n := range e.nodes {
		f.send(ctx, n, func(ctx context.Context) error { return n.Record(ctx, r) })
	}
	if err := f.awaitAnswers(ctx, func() bool { return f.yes >= e.majority }); err != nil {
		return err
	}
	if f.yes >= e.majority {
		return nil
	}
	return fmt.Errorf("recorded by %d of %d nodes, %d must: %w",
		f.yes, len(e.nodes), e.majority, &Error{Votes: f.votes, Need: e.majority})
}

// Records implements [driver.Operator]. It needs a majority of the nodes: one of them has each record. Where nodes
// differ, a record with an outcome is later than one without.
func (e *Engine) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	if limit <= 0 || limit > driver.MaxRemovals {
		limit = driver.MaxRemovals
	}
	lists, f, err := askAll(ctx, e, func(ctx context.Context, n *node) ([]driver.Removal, error) {
		return n.Records(ctx, limit)
	})
	if err != nil {
		return nil, err
	}
	if f.yes < e.majority {
		return nil, e.errTooFewAnswered(f.votes, e.majority)
	}
	latest := map[string]driver.Removal{}
	for _, list := range lists {
		for _, r := range list {
			if known, ok := latest[r.ID]; !ok || known.Outcome == driver.Asked {
				latest[r.ID] = r
			}
		}
	}
	all := make([]driver.Removal, 0, len(latest))
	for _, r := range latest {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b driver.Removal) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return all[:min(limit, len(all))], nil
}
