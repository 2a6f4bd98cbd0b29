package quorum

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A lock is taken away by a majority and granted to the next one. Then a place of that majority goes back to what it knew before: it has the key of the first
// again, and no vote. Its yes to a renewal is none beside the no of the other one, nor while that one is silent.
func TestYesOfAPlaceWithoutAVoteRenewsNothing(t *testing.T) {
	for name, silent := range map[string]bool{"the other one answers": false, "the other one is silent": true} {
		t.Run(name, synctested(func(t *testing.T) {
			s := newStage(t, 3)
			first := s.client(steady)
			g := s.take(first, "first")
			before := s.places[0].backup()
			cut := s.client(network{plan: func(place int, _ string) fate { return fate{lost: place == 2} }})
			if err := cut.ForceRelease(t.Context(), key, g.Token); err != nil {
				t.Fatal(err)
			}
			s.take(cut, "next")
			s.places[0].restore(before, 0)
			if silent {
				s.places[1].freeze()
			}
			if err := s.renew(first, "first"); err == nil || errors.Is(err, driver.ErrNotHeld) == silent {
				t.Errorf("the one from whom it was taken away renews: %v", err)
			}
			s.places[1].thaw()
			time.Sleep(time.Second) // what has waited for it goes on
		}))
	}
}

// Places that were restarted and have kept the key do not end a lease, be they a majority.
func TestRestartsEndNoLeaseThatIsKept(t *testing.T) {
	for _, c := range []struct {
		name           string
		keeps, forgets int
	}{
		{"one keeps it", 1, 0}, {"one forgets it", 0, 1}, {"two keep it", 2, 0}, {"all keep it", 3, 0}, {"two keep it, one forgets it", 2, 1},
	} {
		t.Run(c.name, synctested(func(t *testing.T) {
			s := newStage(t, 3)
			e := s.client(steady)
			s.take(e, "holder")
			synctest.Wait()
			for i, p := range s.places[:c.keeps+c.forgets] {
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

// synctested is a test in virtual time.
func synctested(f func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}
