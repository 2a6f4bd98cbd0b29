package quorum

import (
	"context"
	"fmt"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// tally counts what the nodes have said of one item of a batch.
//
// A node without a vote may have got the key back from its disk, and have forgotten that the lease was taken away and
// granted to somebody else. So its yes counts only if all nodes with a vote say yes: another holder would have been
// granted the name by a majority, and each node of that majority says no unless it has been restarted since.
type tally struct {
	yes, no        int
	yesWithoutVote int
	refusedByVoter bool
	answers        int
	lastErr        error // neither yes nor no
	decided        bool
}

// Renew implements [driver.Engine]. Each item is reported as soon as a majority has decided it.
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	items := slices.Clone(batch) // slow nodes go on with it
	answers := make(chan renewalAnswer, 64)
	done := make(chan struct{})
	defer close(done)
	for _, n := range e.nodes {
		e.goInBackground(func() { e.renewOnNode(ctx, n, items, answers, done) })
	}
	tallies := make([]tally, len(items))
	for undecided := len(items); undecided > 0; {
		select {
		case a := <-answers:
			if outcome, decided := e.countAnswer(&tallies[a.item], a); decided {
				undecided--
				report(a.item, outcome)
			}
		case <-ctx.Done():
			return // what was not reported is unknown
		case <-e.ctx.Done():
			return
		}
	}
}

// renewalAnswer is what one node says of one item.
type renewalAnswer struct {
	item   int
	err    error
	closed bool // the node has no vote now
}

// renewOnNode renews all items on one node. Nobody receives the answers any more once done is closed.
func (e *Engine) renewOnNode(
	ctx context.Context, n *node, items []driver.Renewal, answers chan<- renewalAnswer, done <-chan struct{},
) {
	reported := make([]bool, len(items))
	report := func(i int, err error) {
		reported[i] = true
		a := renewalAnswer{item: i, err: err}
		if g, ok := n.Node.(guardedNode); ok && (err == nil || driver.IsNo(err)) {
			opens, unknown := g.Opens(ctx)
			a.closed = !opens.IsZero()
			if err == nil {
				a.err = unknown
			}
		}
		select {
		case answers <- a:
		case <-done:
		}
	}
	err := e.sendRequest(ctx, n, func(ctx context.Context) error {
		n.Renew(ctx, items, report)
		return ctx.Err()
	})
	if err == nil {
		err = errNodeSilent
	}
	for i := range reported {
		if !reported[i] {
			report(i, err)
		}
	}
}

// countAnswer counts one answer, and reports whether it has decided the item.
func (e *Engine) countAnswer(t *tally, a renewalAnswer) (outcome error, decided bool) {
	if t.decided {
		return nil, false // before
	}
	t.answers++
	switch {
	case a.err == nil && a.closed:
		t.yesWithoutVote++
	case a.err == nil:
		t.yes++
	case driver.IsNo(a.err):
		t.no++
		t.refusedByVoter = t.refusedByVoter || !a.closed
	default:
		t.lastErr = a.err
	}
	outcome, t.decided = e.decideRenewal(t)
	return outcome, t.decided
}

// decideRenewal returns the outcome by the answers so far, and whether it is final.
func (e *Engine) decideRenewal(t *tally) (outcome error, decided bool) {
	refusals := t.no
	if t.refusedByVoter {
		refusals += t.yesWithoutVote
	}
	all := t.answers == len(e.nodes)
	switch {
	case t.yes >= e.majority:
		return nil, true
	case refusals > len(e.nodes)-e.majority:
		return driver.ErrNotHeld, true
	case all && t.lastErr == nil: // no node with a vote says no
		return nil, true
	case all:
		return fmt.Errorf("%d of %d nodes have renewed it, and %d that have no vote yet, %d refuse: %w",
			t.yes, len(e.nodes), t.yesWithoutVote, t.no, t.lastErr), true
	}
	return nil, false
}
