package quorum

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// opener is a node that may grant nothing for a while. Opens says until when, as far as the last request to the node has found out; the zero time is for one
// that grants.
type opener interface {
	Opens(ctx context.Context) (time.Time, error)
}

// Votes implements [driver.Voter].
func (e *Engine) Votes(ctx context.Context, k driver.Key) ([]driver.Vote, error) {
	said, p, err := look(ctx, e, func(ctx context.Context, n *node) (v driver.Vote, err error) {
		page, err := n.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
		if err != nil {
			return v, err
		}
		for _, s := range page {
			v.Holders = s.Holders
		}
		if o, ok := n.Node.(opener); ok {
			var opens time.Time
			if opens, err = o.Opens(ctx); !opens.IsZero() {
				v.Closed = max(time.Until(opens), 0)
			}
		}
		return v, err
	})
	if err != nil {
		return nil, err
	}
	if e.life.Err() != nil {
		return nil, errClosed
	}
	for i, vote := range p.votes {
		switch vote.Answer {
		case Granted: // it has said what it was asked
		case NoAnswer:
			said[i] = driver.Vote{Err: driver.ErrSilent}
		default:
			said[i] = driver.Vote{Err: vote.Err}
		}
		said[i].Place = vote.Node
	}
	return said, nil
}
