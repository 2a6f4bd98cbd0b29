package quorum

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
)

// Leaks implements [driver.Operator]. Each leak is that of one node, which it names as its server. If nodes do
// not answer, the leaks of the others are visited first; then an error says which do not.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	s := startSearches(ctx, e, q, func(
		ctx context.Context, n *node, q driver.Query, visit func(driver.Leak) bool,
	) error {
		return n.Leaks(ctx, q, visit)
	})
	defer s.cancel()
	for found := true; found; {
		if err := s.awaitItems(); err != nil {
			return err
		}
		found = false
		for _, ns := range s.all {
			if !ns.hasItem {
				continue
			}
			found = true
			ns.item.Server = ns.node.name
			if !visit(ns.item) {
				return nil
			}
			ns.finishItem()
		}
	}
	if failed, votes := s.failedNodes(); failed > 0 {
		return e.errTooFewAnswered(votes, len(e.nodes))
	}
	return nil
}

// Sweep implements [driver.Operator].
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	for _, n := range e.nodes {
		if n.name == l.Server {
			return e.sweep(ctx, n, l)
		}
	}
	return driver.ErrNotHeld
}

// sweep removes a leak of one node.
func (e *Engine) sweep(ctx context.Context, n *node, l driver.Leak) error {
	l.Server = ""
	f := e.newFanOut()
	f.setWakeAt(1)
	f.send(ctx, n, func(ctx context.Context) error { return n.Sweep(ctx, l) })
	if err := f.awaitAnswers(ctx, func() bool { return false }); err != nil {
		return err
	}
	switch v := f.votes[n.index]; {
	case f.yes == 1:
		return nil
	case f.no == 1:
		return driver.ErrNotHeld
	case v.Err == nil:
		return fmt.Errorf("%s: %w", n.name, driver.ErrSilent)
	default:
		return fmt.Errorf("%s: %w", n.name, v.Err)
	}
}
