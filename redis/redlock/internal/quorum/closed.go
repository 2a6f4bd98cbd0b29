package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// whyClosed returns the error that says until when nothing is granted, or nil if that is not because of nodes that
// grant nothing yet. granting is how many of the others would grant.
func (e *Engine) whyClosed(votes []Vote, granting int) *driver.GrantsClosedError {
	var opens []time.Time
	failed := 0
	for _, v := range votes {
		switch v.Answer {
		case Closed:
			opens = append(opens, v.Until)
		case NoAnswer, Failed:
			failed++
		}
	}
	missing := e.majority - granting
	if missing <= 0 || missing > len(opens) {
		return nil
	}
	slices.SortFunc(opens, time.Time.Compare)
	reason := fmt.Sprintf("of %d servers, %d restarted or promoted, or without a record of earlier use, "+
		"grant nothing yet", len(votes), len(opens))
	if failed > 0 {
		reason += fmt.Sprintf(", and %d do not answer", failed)
	}
	return &driver.GrantsClosedError{
		Open:   opens[missing-1],
		Reason: reason,
		Fix: "`leasehold open` opens them at once, if no lock was lost; for tests, guard=off in the URL " +
			"turns this off",
	}
}

// GrantsClosed implements [driver.Operator].
func (e *Engine) GrantsClosed(ctx context.Context, k driver.Key) (*driver.GrantsClosedError, error) {
	if k.Kind > driver.Lock {
		return nil, nil // nodes keep locks only
	}
	opens, f, err := askAll(ctx, e, func(ctx context.Context, n *node) (time.Time, error) {
		if g, ok := n.Node.(guardedNode); ok {
			return g.Opens(ctx)
		}
		return time.Time{}, nil
	})
	if err != nil {
		return nil, err
	}
	if e.ctx.Err() != nil {
		return nil, errClosed
	}
	granting, votes := 0, slices.Clone(f.votes)
	for i, v := range votes {
		switch {
		case v.Answer != Granted: // it has not said what it was asked
		case opens[i].IsZero():
			granting++
		default:
			votes[i].Answer, votes[i].Until = Closed, opens[i]
		}
	}
	if granting >= e.majority {
		return nil, nil
	}
	if closed := e.whyClosed(votes, granting); closed != nil {
		return closed, nil
	}
	return nil, e.errTooFewAnswered(f.votes, e.majority)
}
