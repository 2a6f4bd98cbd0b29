package quorum

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// spendingNode is a node that undoes what it has granted: so many takes, and waits. It names the owner in a
// release of its own.
type spendingNode struct {
	*faultyNode
	takes, waits int
}

var errUndone = driver.Spent(driver.NoEffect(errors.New("too few replicas have confirmed")))

func (s *spendingNode) StartTake(ctx context.Context, r quorumnode.Request, done func(driver.Grant, error)) {
	if s.takes == 0 {
		s.faultyNode.StartTake(ctx, r, done)
		return
	}
	s.takes--
	s.rule.checkTake(r.Owner, s.name)
	s.rule.noteRelease(r.Owner, s.name)
	done(driver.Grant{}, errUndone)
}

func (s *spendingNode) WaitFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	if s.waits == 0 {
		return s.faultyNode.WaitFrom(ctx, r)
	}
	s.waits--
	s.rule.checkTake(r.Owner, s.name)
	s.rule.noteRelease(r.Owner, s.name)
	_ = s.faultyNode.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, Place: r.Place})
	return driver.Grant{}, errUndone
}

// An owner that a node has named in a release of its own is never used in a take again, even though that take
// had no effect. One such node does not keep a majority of others from granting the name.
func TestNodeThatSpendsTheOwner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes, takes, waits int
	}{
		"one node undoes it":      {1, 1, 0},
		"a majority undoes it":    {2, 1, 0},
		"all undo it":             {3, 1, 0},
		"each undoes a hand-over": {3, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newTestQuorum(t, 3)
				e := s.client(steady)
				for i := range c.nodes {
					e.nodes[i].Node = &spendingNode{e.nodes[i].Node.(*faultyNode), c.takes, c.waits}
				}
				if c.waits > 0 {
					s.mustTake(s.client(steady), "first")
					if _, err := e.Take(t.Context(), joining("owner")); !errors.Is(err, driver.ErrHeld) {
						t.Fatal(err)
					}
					for i := range s.nodes {
						_ = s.nodes[i].engine.Release(t.Context(), driver.Release{Hold: holdOf("first")})
					}
					g, err := e.Wait(t.Context(), joining("owner"))
					if err != nil {
						t.Fatal(err)
					}
					s.releaseGrant(e, joining("owner"), g)
					return
				}
				r := request("owner")
				g, err := e.Take(t.Context(), r)
				if c.nodes > 1 && !driver.IsSpent(err) {
					t.Errorf("the owner may be used again after %v", err)
				}
				if driver.IsSpent(err) {
					r = request("another owner")
					g, err = e.Take(t.Context(), r)
				}
				if err != nil {
					t.Fatal(err)
				}
				s.releaseGrant(e, r, g)
			})
		})
	}
}
