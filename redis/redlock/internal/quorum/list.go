package quorum

import (
	"cmp"
	"context"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// List implements [driver.Engine]. It needs a majority of the nodes. What is held by one holder on a majority is shown as held; who has
// less, because it has just begun or is about to let go, is not.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	pages := make([][]driver.Status, len(e.nodes))
	p := e.poll()
	for _, n := range e.nodes {
		p.send(ctx, n, func(ctx context.Context) error {
			page, err := n.List(ctx, q)
			if err == nil {
				pages[n.index] = page
			}
			return err
		})
	}
	if err := p.await(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	if p.yes < e.need {
		return nil, p.outcome()
	}
	found := map[driver.Key][]driver.Status{}
	var keys []driver.Key
	for _, page := range pages {
		for _, s := range page {
			if found[s.Key] == nil {
				keys = append(keys, s.Key)
			}
			found[s.Key] = append(found[s.Key], s)
		}
	}
	slices.SortFunc(keys, driver.Key.Compare)
	var merged []driver.Status
	for _, k := range keys {
		if s := e.merge(found[k]); len(s.Holders) > 0 || s.Waiting > 0 {
			merged = append(merged, s)
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 1000
	}
	return merged[:min(limit, len(merged))], nil
}

// merge puts together what the nodes say of one name.
func (e *Engine) merge(parts []driver.Status) driver.Status {
	s := driver.Status{Key: parts[0].Key}
	var holders []driver.Holder
	for _, part := range parts {
		holders = append(holders, part.Holders...)
		if part.Waiting > s.Waiting { // one of them is the arbiter
			s.Waiting, s.Queue = part.Waiting, part.Queue
		}
	}
	slices.SortFunc(holders, func(a, b driver.Holder) int { return cmp.Compare(a.Token, b.Token) })
	for len(holders) > 0 {
		n := 1
		for n < len(holders) && holders[n].Token == holders[0].Token {
			n++
		}
		if n >= e.need {
			// It is held until the moment at which fewer than a majority do.
			slices.SortFunc(holders[:n], func(a, b driver.Holder) int { return cmp.Compare(b.TTL, a.TTL) })
			s.Holders = append(s.Holders, holders[e.need-1])
		}
		holders = holders[n:]
	}
	return s
}
