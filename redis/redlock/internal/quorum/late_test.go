package quorum

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A node that has not answered the take yet is not sent the release, which could overtake the take. It gets
// the release afterwards, once, and its answer counts like those of the others.
func TestReleaseWaitsForTheTake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frozen int // nodes that do not answer a release
		last   time.Duration
	}{
		"no delay":                         {0, 0},
		"the majority needs the late node": {1, 190 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newTestQuorum(t, 3)
				var mu sync.Mutex
				sent := make([][]string, 3)
				e := s.client(networkPlan{plan: func(node int, method string) delivery {
					mu.Lock()
					defer mu.Unlock()
					sent[node] = append(sent[node], method)
					switch {
					case node == 2 && method == "take":
						return delivery{requestDelay: 100 * ms, replyDelay: 100 * ms}
					case node < c.frozen && method == "release":
						return delivery{lost: true}
					}
					return delivery{requestDelay: 10 * ms}
				}})
				s.mustTake(e, "owner")
				if d := durationOf(func() { s.mustRelease(e, "owner") }); d != max(c.last+10*ms, 10*ms) {
					t.Errorf("the release takes %v", d)
				}
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				for i := c.frozen; i < 3; i++ {
					if !slices.Equal(sent[i], []string{"take", "release"}) {
						t.Errorf("node %d was asked for %v", i, sent[i])
					}
				}
				if s.freeNodes() != 3-c.frozen {
					t.Errorf("%d nodes are free", s.freeNodes())
				}
			})
		})
	}
}

// The late node is asked for the release even if it refuses the take, and its answer counts.
func TestReleaseCountsTheRefusalOfALateNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		s.takeOn(2, request("other"))
		e := s.client(networkPlan{plan: func(node int, method string) delivery {
			switch {
			case node == 2:
				return delivery{requestDelay: 100 * ms}
			case node == 0 && method == "release":
				return delivery{connectionBreaks: true}
			}
			return delivery{requestDelay: 10 * ms}
		}})
		s.mustTake(e, "owner")
		var err error
		d := durationOf(func() { err = e.Release(t.Context(), driver.Release{Hold: holdOf("owner")}) })
		if err == nil || driver.IsNo(err) || d != 190*ms {
			t.Errorf("%v after %v, want an unknown outcome as soon as all have answered", err, d)
		}
		time.Sleep(time.Second)
	})
}

// A caller that takes, releases and closes at once leaves nothing on a node that answers later.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		e := s.client(networkPlan{plan: func(node int, _ string) delivery {
			if node == 2 {
				return delivery{requestDelay: 50 * ms, replyDelay: 50 * ms}
			}
			return delivery{requestDelay: ms, replyDelay: ms}
		}})
		s.mustTake(e, "owner")
		s.mustRelease(e, "owner")
		if d := durationOf(e.Close); d > 250*ms {
			t.Errorf("Close took %v", d)
		}
		if n := s.freeNodes(); n != 3 {
			t.Errorf("it is free on %d of 3 nodes", n)
		}
	})
}
