package quorum

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A minority of nodes that do not answer costs no time, whichever nodes these are.
func TestFrozenNodeCostsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n      int
		frozen []int
	}{
		{3, nil}, {3, []int{0}}, {3, []int{1}}, {3, []int{2}}, {4, []int{0}},
		{5, []int{0, 1}}, {5, []int{1, 4}}, {5, []int{2, 3}},
	} {
		t.Run(fmt.Sprint(c.n, " nodes, frozen: ", c.frozen), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newTestQuorum(t, c.n)
				e := s.client(steady)
				for _, i := range c.frozen {
					s.nodes[i].freeze()
				}
				if d := durationOf(func() { s.mustTake(e, "owner") }); d != 20*ms {
					t.Errorf("Take takes %v", d)
				}
				if d := durationOf(func() {
					if err := s.renew(e, "owner"); err != nil {
						t.Errorf("Renew: %v", err)
					}
				}); d != 20*ms {
					t.Errorf("Renew takes %v", d)
				}
				if d := durationOf(func() { s.mustRelease(e, "owner") }); d != 20*ms {
					t.Errorf("Release takes %v", d)
				}
				for _, i := range c.frozen {
					s.nodes[i].thaw()
				}
				time.Sleep(time.Second)
				if s.freeNodes() != c.n {
					t.Errorf("only %d nodes are free in the end", s.freeNodes())
				}
			})
		})
	}
}

// The release of the last lease reaches the arbiter after the next take, since the arbiter has answered the
// take before late. At that moment two of the other nodes freeze, so a majority needs the arbiter: it is
// asked again, and nobody waits for the frozen nodes.
func TestArbiterThatIsReleasedLateIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 5)
		arbiter := s.client(steady).arbiter(key).index
		var late atomic.Bool
		e := s.client(networkPlan{plan: func(node int, method string) delivery {
			if node == arbiter && method == "take" && !late.Swap(true) {
				return delivery{requestDelay: 10 * ms, replyDelay: 40 * ms}
			}
			return delivery{requestDelay: 10 * ms, replyDelay: 10 * ms}
		}})
		s.mustTake(e, "first")
		s.mustRelease(e, "first")
		for _, i := range []int{1, 2} {
			s.nodes[(arbiter+i)%5].freeze()
		}
		defer func() {
			for _, p := range s.nodes {
				p.thaw()
			}
			time.Sleep(time.Second)
			if s.freeNodes() != 5 {
				t.Errorf("only %d nodes are free in the end", s.freeNodes())
			}
		}()
		if d := durationOf(func() { s.mustTake(e, "second") }); d > 60*ms {
			t.Errorf("Take takes %v", d)
		}
		s.mustRelease(e, "second")
	})
}

func TestFrozenMajorityIsUnavailable(t *testing.T) {
	t.Parallel()
	for n, frozen := range map[int][]int{3: {0, 2}, 4: {1, 2}, 5: {0, 2, 4}} {
		synctest.Test(t, func(t *testing.T) {
			s := newTestQuorum(t, n)
			e := s.client(steady)
			for _, i := range frozen {
				s.nodes[i].freeze()
			}
			began := time.Now()
			_, err := e.Take(t.Context(), request("owner"))
			if waited := time.Since(began); waited > e.answerTimeout() {
				t.Errorf("no answer for %v, the limit is %v", waited, e.answerTimeout())
			}
			votes, ok := errors.AsType[*Error](err)
			if !ok || errors.Is(err, driver.ErrHeld) || driver.HadNoEffect(err) {
				t.Fatalf("%v, want an unknown outcome with votes", err)
			}
			want := map[Answer]int{NoAnswer: len(frozen), Granted: n - len(frozen)}
			for _, v := range votes.Votes {
				want[v.Answer]--
			}
			if want[NoAnswer] != 0 || want[Granted] != 0 {
				t.Errorf("the votes are %v", err)
			}
			s.thawAndRelease(e, "owner")
			s.mustTake(e, "holder")
			time.Sleep(time.Second)
			for _, i := range frozen {
				s.nodes[i].freeze()
			}
			if err := s.renew(e, "holder"); err == nil || driver.IsNo(err) {
				t.Errorf("renewal: %v, want an unknown outcome", err)
			}
			if err := e.Release(t.Context(), driver.Release{Hold: holdOf("holder")}); err == nil || driver.IsNo(err) {
				t.Errorf("release: %v, want an unknown outcome", err)
			}
			s.thawAndRelease(e, "holder")
		})
	}
}

// thawAndRelease thaws all nodes, and releases an owner once more, as the library does after an unknown outcome.
func (s *testQuorum) thawAndRelease(e *Engine, owner string) {
	for _, p := range s.nodes {
		p.thaw()
	}
	time.Sleep(time.Second)
	if err := e.Release(s.t.Context(), driver.Release{Hold: holdOf(owner)}); err != nil && !driver.IsNo(err) {
		s.t.Errorf("release when all nodes answer: %v", err)
	}
	time.Sleep(time.Second)
	if s.freeNodes() != len(s.nodes) {
		s.t.Errorf("only %d nodes are free in the end", s.freeNodes())
	}
}

func TestLateGrantStaysIfTheLockIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		e := s.client(networkPlan{plan: func(node int, _ string) delivery {
			return delivery{requestDelay: time.Duration(node) * 200 * ms}
		}})
		if d := durationOf(func() { s.mustTake(e, "owner") }); d != 200*ms {
			t.Errorf("Take takes %v", d)
		}
		time.Sleep(time.Second)
		if s.freeNodes() != 0 {
			t.Errorf("%d nodes have not granted the name", s.freeNodes())
		}
		s.mustRelease(e, "owner")
		time.Sleep(time.Second)
	})
}

func TestLateGrantGoesIfTheLockIsNotHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		var last int // not the arbiter, which is always waited for
		slow := s.client(networkPlan{plan: func(node int, method string) delivery {
			if node == last && method == "take" {
				return delivery{requestDelay: 200 * ms, replyDelay: 200 * ms}
			}
			return delivery{}
		}})
		order := slow.arbiters(key)
		last = order[2].index
		s.takeOn(order[0].index, request("other"))
		s.takeOn(order[1].index, request("other"))
		var err error
		d := durationOf(func() { _, err = slow.Take(t.Context(), request("owner")) })
		if d > 10*ms || !errors.Is(err, driver.ErrHeld) {
			t.Errorf("%v after %v, want ErrHeld at once", err, d)
		}
		time.Sleep(300 * ms)
		if s.freeNodes() != 0 {
			t.Fatal("the late grant is not there: the test proves nothing")
		}
		time.Sleep(150 * ms)
		if s.freeNodes() != 1 {
			t.Error("the late grant is still there")
		}
	})
}

// Waiters whose arbiter freezes go on at the next node.
func TestWaitersLeaveAFrozenArbiter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := newTestQuorum(t, n)
			holder := s.client(steady)
			s.mustTake(holder, "holder")
			const waiters = 3
			granted := make(chan time.Time, waiters)
			for i := range waiters {
				e, owner := s.client(steady), fmt.Sprint("waiter ", i)
				go func() {
					if _, err := e.Take(t.Context(), joining(owner)); !errors.Is(err, driver.ErrHeld) {
						t.Errorf("%s: %v, want ErrHeld", owner, err)
					}
					g, err := e.Wait(t.Context(), joining(owner))
					if err != nil {
						t.Errorf("%s: %v", owner, err)
					}
					granted <- time.Now()
					s.releaseGrant(e, joining(owner), g)
				}()
			}
			time.Sleep(3 * time.Second)
			arbiter := holder.arbiters(key)[0].index
			s.nodes[arbiter].freeze()
			began := time.Now()
			s.mustRelease(holder, "holder")
			last := began
			for range waiters {
				at := <-granted
				t.Logf("%d nodes: granted %v after the arbiter froze, %v after the one before", n, at.Sub(began),
					at.Sub(last))
				if at.Sub(began) > 2*time.Second {
					t.Errorf("granted %v after the arbiter froze", at.Sub(began))
				}
				last = at
			}
			s.nodes[arbiter].thaw()
			time.Sleep(time.Second)
		})
	}
}

// If nothing is left of a lease when a majority has granted it, it is released.
func TestLateGrantIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		e := s.client(networkPlan{plan: func(_ int, method string) delivery {
			if method == "take" {
				return delivery{replyDelay: 300 * ms}
			}
			return delivery{}
		}})
		for _, c := range []struct {
			ttl, least time.Duration
			granted    bool
		}{ // drift takes 1 % and 2 ms
			{306 * ms, 0, true}, {305 * ms, 0, false}, {407 * ms, 100 * ms, true}, {405 * ms, 100 * ms, false},
		} {
			r := request(fmt.Sprint(c))
			r.TTL = c.ttl
			e.MinValidity = c.least
			_, err := e.Take(t.Context(), r)
			if (err == nil) != c.granted {
				t.Errorf("%+v: %v", c, err)
			}
			if err == nil {
				s.mustRelease(e, r.Owner)
			}
			time.Sleep(time.Millisecond)
			if s.freeNodes() != 3 {
				t.Errorf("%+v: %d nodes are free", c, s.freeNodes())
			}
		}
	})
}

// Two takers try at the same moment, and two of five nodes are frozen. One taker has the arbiter, the other
// one both of the other nodes. Neither has a majority until one gives way: the one that the arbiter refuses
// does so long before the other one gives up.
func TestTakeThatTheArbiterRefusesGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 5)
		order := s.client(steady).arbiters(key)
		near := func(to ...*node) networkPlan { // 5 ms away; the others are twice as far
			return networkPlan{plan: func(index int, _ string) delivery {
				if slices.ContainsFunc(to, func(n *node) bool { return n.index == index }) {
					return delivery{requestDelay: 5 * ms, replyDelay: 5 * ms}
				}
				return delivery{requestDelay: 10 * ms, replyDelay: 10 * ms}
			}}
		}
		refused, chosen := s.client(near(order[1], order[2])), s.client(near(order[0]))
		for _, n := range order[3:] {
			s.nodes[n.index].freeze()
		}
		gaveWay := make(chan error)
		go func() {
			_, err := refused.Take(t.Context(), request("refused"))
			gaveWay <- err
		}()
		var err error
		d := durationOf(func() { _, err = chosen.Take(t.Context(), request("chosen")) })
		if err != nil || d > nodeTimeout/2 {
			t.Errorf("the taker with the arbiter, after %v: %v", d, err)
		}
		if err := <-gaveWay; !errors.Is(err, driver.ErrHeld) {
			t.Errorf("the taker that the arbiter refuses: %v", err)
		}
		for _, p := range s.nodes {
			p.thaw()
		}
		time.Sleep(2 * time.Second) // requests that waited for them go on
	})
}
