package quorum

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A release that is sent to a node which has not answered to the take yet may overtake that: so it comes after it, once, and counts like the others.
func TestReleaseWaitsForTheTake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frozen int // places that do not answer to a release
		last   time.Duration
	}{
		"all is well":                         {0, 0},
		"the late node makes up the majority": {1, 190 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, 3)
				var mu sync.Mutex
				sent := make([][]string, 3)
				e := s.client(network{plan: func(place int, method string) fate {
					mu.Lock()
					defer mu.Unlock()
					sent[place] = append(sent[place], method)
					switch {
					case place == 2 && method == "take":
						return fate{before: 100 * ms, after: 100 * ms}
					case place < c.frozen && method == "release":
						return fate{lost: true}
					}
					return fate{before: 10 * ms}
				}})
				s.take(e, "owner")
				if d := took(func() { s.release(e, "owner") }); d != max(c.last+10*ms, 10*ms) {
					t.Errorf("the release takes %v", d)
				}
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				for i := c.frozen; i < 3; i++ {
					if !slices.Equal(sent[i], []string{"take", "release"}) {
						t.Errorf("place %d was asked for %v", i, sent[i])
					}
				}
				if s.free() != 3-c.frozen {
					t.Errorf("%d places are free", s.free())
				}
			})
		})
	}
}

// The late node is asked for the release also if it refuses the take, and its answer counts.
func TestReleaseHearsThatTheLateNodeRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		s.takeOn(2, request("other"))
		e := s.client(network{plan: func(place int, method string) fate {
			switch {
			case place == 2:
				return fate{before: 100 * ms}
			case place == 0 && method == "release":
				return fate{broken: true}
			}
			return fate{before: 10 * ms}
		}})
		s.take(e, "owner")
		var err error
		d := took(func() { err = e.Release(t.Context(), driver.Release{Hold: hold("owner")}) })
		if err == nil || driver.IsNo(err) || d != 190*ms {
			t.Errorf("%v after %v, want to know nothing as soon as all have answered", err, d)
		}
		time.Sleep(time.Second)
	})
}

// Whoever takes, releases and ends at once leaves nothing on a node that answers later.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		e := s.client(network{plan: func(place int, _ string) fate {
			if place == 2 {
				return fate{before: 50 * ms, after: 50 * ms}
			}
			return fate{before: ms, after: ms}
		}})
		s.take(e, "owner")
		s.release(e, "owner")
		if d := took(e.Close); d > 250*ms {
			t.Errorf("Close took %v", d)
		}
		if n := s.free(); n != 3 {
			t.Errorf("it is free on %d places of 3", n)
		}
	})
}
