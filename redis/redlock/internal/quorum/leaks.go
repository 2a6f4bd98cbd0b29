package quorum

import (
	"context"
	"fmt"

	"github.com/leasehold-go/leasehold/driver"
)

// Leaks implements [driver.Sweeper]. A leak is that of one node, which is its place. If nodes do not answer, it tells of the others' leaks first, and then returns an
// error that says which do not.
func (e *Engine) Leaks(ctx context.Context, q driver.Query, visit func(driver.Leak) bool) error {
	s := open(ctx, e, q, func(ctx context.Context, n *node, q driver.Query, visit func(driver.Leak) bool) error {
		return n.Node.(driver.Sweeper).Leaks(ctx, q, visit)
	})
	defer s.end()
	for told := true; told; {
		if err := s.gather(); err != nil {
			return err
		}
		told = false
		for _, st := range s.all {
			if !st.full {
				continue
			}
			told = true
			st.piece.Place = st.node.name
			if !visit(st.piece) {
				return nil
			}
			st.used()
		}
	}
	if missing, votes := s.missing(); missing > 0 {
		return e.unlisted(votes, len(e.nodes))
	}
	return nil
}

// Sweep implements [driver.Sweeper].
func (e *Engine) Sweep(ctx context.Context, l driver.Leak) error {
	for _, n := range e.nodes {
		if n.name == l.Place {
			return e.sweep(ctx, n, l)
		}
	}
	return driver.ErrNotHeld
}

// sweep removes a leak of one node.
func (e *Engine) sweep(ctx context.Context, n *node, l driver.Leak) error {
	l.Place = ""
	p := e.poll()
	p.wakeFrom(1)
	p.send(ctx, n, func(ctx context.Context) error { return n.Node.(driver.Sweeper).Sweep(ctx, l) })
	if err := p.await(ctx, func() bool { return false }); err != nil {
		return err
	}
	switch v := p.votes[n.index]; {
	case p.yes == 1:
		return nil
	case p.no == 1:
		return driver.ErrNotHeld
	case v.Err == nil:
		return fmt.Errorf("%s: %w", n.name, driver.ErrSilent)
	default:
		return fmt.Errorf("%s: %w", n.name, v.Err)
	}
}
