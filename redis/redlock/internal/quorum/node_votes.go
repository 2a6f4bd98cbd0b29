package quorum

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// guardedNode is a node that may grant nothing for a while. Opens says until when, as far as the last request to the
// node has found out; the zero time means that it grants.
type guardedNode interface {
	Opens(ctx context.Context) (time.Time, error)
}

// hasVote reports whether a node that has just answered grants now, so that it has forgotten nothing.
func (e *Engine) hasVote(n *node) bool {
	g, ok := n.Node.(guardedNode)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.Timeout)
	defer cancel()
	opens, err := g.Opens(ctx)
	return err == nil && opens.IsZero()
}

// Votes implements [driver.Operator].
func (e *Engine) Votes(ctx context.Context, k driver.Key) ([]driver.Vote, error) {
	votes, f, err := askAll(ctx, e, func(ctx context.Context, n *node) (v driver.Vote, err error) {
		page, err := n.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
		if err != nil {
			return v, err
		}
		for _, s := range page {
			v.Holders = s.Holders
		}
		if g, ok := n.Node.(guardedNode); ok {
			var opens time.Time
			if opens, err = g.Opens(ctx); !opens.IsZero() {
				v.Closed = max(time.Until(opens), 0)
			}
		}
		return v, err
	})
	if err != nil {
		return nil, err
	}
	if e.ctx.Err() != nil {
		return nil, errClosed
	}
	for i, answered := range f.votes {
		switch answered.Answer {
		case Granted: // it has said what it was asked
		case NoAnswer:
			votes[i] = driver.Vote{Err: driver.ErrSilent}
		default:
			votes[i] = driver.Vote{Err: answered.Err}
		}
		votes[i].Node = answered.Node
	}
	return votes, nil
}
