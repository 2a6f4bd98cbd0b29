package quorum

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// Record implements [driver.Recorder]. A removal is recorded when a majority of the nodes has it.
func (e *Engine) Record(ctx context.Context, r driver.Removal) error {
	p := e.poll()
	for _, n := range e.nodes {
		p.send(ctx, n, func(ctx context.Context) error { return n.Node.(driver.Recorder).Record(ctx, r) })
	}
	if err := p.await(ctx, func() bool { return p.yes >= e.need }); err != nil {
		return err
	}
	if p.yes >= e.need {
		return nil
	}
	return fmt.Errorf("recorded by %d of %d nodes, %d must: %w", p.yes, len(e.nodes), e.need, &Error{Votes: p.votes, Need: e.need})
}

// Records implements [driver.Recorder]. It needs a majority of the nodes, one of which has each record. Where they differ, the one that says what has become of
// a removal is the later one.
func (e *Engine) Records(ctx context.Context, limit int) ([]driver.Removal, error) {
	if limit <= 0 || limit > driver.MaxRemovals {
		limit = driver.MaxRemovals
	}
	lists, p, err := look(ctx, e, func(ctx context.Context, n *node) ([]driver.Removal, error) {
		return n.Node.(driver.Recorder).Records(ctx, limit)
	})
	if err != nil {
		return nil, err
	}
	if p.yes < e.need {
		return nil, e.unlisted(p.votes, e.need)
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
