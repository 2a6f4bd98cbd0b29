package quorum

import (
	"context"
	"fmt"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// tally is what the nodes have said of one item of a batch.
type tally struct {
	yes, no, answers int
	last             error // that is neither
}

// Renew implements [driver.Engine]. Each item is reported as soon as a majority has decided it.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	items := slices.Clone(batch) // nodes that are slow go on with it
	answers := make(chan renewed, 64)
	gone := make(chan struct{})
	defer close(gone)
	for _, n := range e.nodes {
		e.begin(func() { e.renewOn(ctx, n, items, answers, gone) })
	}
	tallies := make([]tally, len(items))
	for open := len(items); open > 0; {
		select {
		case a := <-answers:
			if outcome, decided := e.tally(&tallies[a.item], a.err); decided {
				open--
				report(a.item, outcome)
			}
		case <-ctx.Done():
			return // what was not reported is unknown
		case <-e.life.Done():
			return
		}
	}
}

// renewed is what one node says of one item.
type renewed struct {
	item int
	err  error
}

// renewOn renews all items on one node.
func (e *Engine) renewOn(ctx context.Context, n *node, items []driver.Renewal, answers chan<- renewed, gone <-chan struct{}) {
	seen := make([]bool, len(items))
	tell := func(i int, err error) {
		seen[i] = true
		select {
		case answers <- renewed{i, err}:
		case <-gone:
		}
	}
	err := e.request(ctx, n, func(ctx context.Context) error {
		n.Renew(ctx, items, tell)
		return ctx.Err()
	})
	if err == nil {
		err = errSilent
	}
	for i := range seen {
		if !seen[i] {
			tell(i, err)
		}
	}
}

// tally takes in one answer, and reports whether it has decided the item.
func (e *Engine) tally(t *tally, err error) (outcome error, decided bool) {
	if t.yes >= e.need || t.no > len(e.nodes)-e.need {
		return nil, false // before
	}
	t.answers++
	switch {
	case err == nil:
		t.yes++
	case driver.IsNo(err):
		t.no++
	default:
		t.last = err
	}
	switch {
	case t.yes >= e.need:
		return nil, true
	case t.no > len(e.nodes)-e.need:
		return driver.ErrNotHeld, true
	case t.answers == len(e.nodes):
		return fmt.Errorf("%d of %d nodes have renewed it, %d refuse: %w", t.yes, len(e.nodes), t.no, t.last), true
	}
	return nil, false
}
