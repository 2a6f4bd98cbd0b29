package quorum

import (
	"context"
	"fmt"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// tally is what the nodes have said of one item of a batch.
//
// A node without a vote may have forgotten that the lease was taken away and granted to another one, and have got its key back from its disk. So its yes counts only
// if all nodes with a vote say yes: the other one was granted it by a majority, and of that no node is left that has not been restarted since.
type tally struct {
	yes, no int
	weak    int  // yes of nodes without a vote
	veto    bool // a node with a vote has said no
	answers int
	last    error // that is neither yes nor no
	decided bool
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
			if outcome, decided := e.tally(&tallies[a.item], a); decided {
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
	item   int
	err    error
	closed bool // the node has no vote now
}

// renewOn renews all items on one node.
func (e *Engine) renewOn(ctx context.Context, n *node, items []driver.Renewal, answers chan<- renewed, gone <-chan struct{}) {
	seen := make([]bool, len(items))
	tell := func(i int, err error) {
		seen[i] = true
		a := renewed{item: i, err: err}
		if o, ok := n.Node.(opener); ok && (err == nil || driver.IsNo(err)) {
			opens, unknown := o.Opens(ctx)
			a.closed = !opens.IsZero()
			if err == nil {
				a.err = unknown
			}
		}
		select {
		case answers <- a:
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
func (e *Engine) tally(t *tally, a renewed) (outcome error, decided bool) {
	if t.decided {
		return nil, false // before
	}
	t.answers++
	switch {
	case a.err == nil && a.closed:
		t.weak++
	case a.err == nil:
		t.yes++
	case driver.IsNo(a.err):
		t.no++
		t.veto = t.veto || !a.closed
	default:
		t.last = a.err
	}
	outcome, t.decided = e.renewal(t)
	return outcome, t.decided
}

// renewal is what the answers come to, and whether that is decided.
func (e *Engine) renewal(t *tally) (outcome error, decided bool) {
	refuse := t.no
	if t.veto {
		refuse += t.weak
	}
	all := t.answers == len(e.nodes)
	switch {
	case t.yes >= e.need:
		return nil, true
	case refuse > len(e.nodes)-e.need:
		return driver.ErrNotHeld, true
	case all && t.last == nil: // no node with a vote says no
		return nil, true
	case all:
		return fmt.Errorf("%d of %d nodes have renewed it, and %d that have no vote yet, %d refuse: %w", t.yes, len(e.nodes), t.weak, t.no, t.last), true
	}
	return nil, false
}
