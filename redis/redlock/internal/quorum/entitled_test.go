package quorum

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A lock is taken away by a majority and granted to the next holder. Then a node of that majority goes back
// to what it knew before: it has the key of the first holder again, and no vote. Its yes to a renewal does
// not count while the other node says no, nor while that is silent.
func TestYesOfANodeWithoutAVoteRenewsNothing(t *testing.T) {
	for name, silent := range map[string]bool{"the other node answers": false, "the other node is silent": true} {
		t.Run(name, synctested(func(t *testing.T) {
			s := newTestQuorum(t, 3)
			first := s.client(steady)
			g := s.mustTake(first, "first")
			before := s.nodes[0].backup()
			cut := s.client(networkPlan{plan: func(node int, _ string) delivery { return delivery{lost: node == 2} }})
			if err := cut.ForceRelease(t.Context(), key, g.Token); err != nil {
				t.Fatal(err)
			}
			s.mustTake(cut, "next")
			s.nodes[0].restore(before, 0)
			if silent {
				s.nodes[1].freeze()
			}
			if err := s.renew(first, "first"); err == nil || errors.Is(err, driver.ErrNotHeld) == silent {
				t.Errorf("a holder that lost its lock renews: %v", err)
			}
			s.nodes[1].thaw()
			time.Sleep(time.Second) // requests that waited for it go on
		}))
	}
}

// Nodes that were restarted and have kept the key do not end a lease, even if they are a majority.
func TestRestartsEndNoLeaseThatIsKept(t *testing.T) {
	for _, c := range []struct {
		name           string
		keeps, forgets int
	}{
		{"one keeps it", 1, 0}, {"one forgets it", 0, 1}, {"two keep it", 2, 0}, {"all keep it", 3, 0},
		{"two keep it, one forgets it", 2, 1},
	} {
		t.Run(c.name, synctested(func(t *testing.T) {
			s := newTestQuorum(t, 3)
			e := s.client(steady)
			s.mustTake(e, "holder")
			synctest.Wait()
			for i, p := range s.nodes[:c.keeps+c.forgets] {
				if i < c.keeps {
					p.restore(p.backup(), 0)
				} else {
					p.crash(0, false)
				}
			}
			if err := s.renew(e, "holder"); err != nil {
				t.Error(err)
			}
		}))
	}
}

// synctested runs a test in virtual time.
func synctested(f func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}
