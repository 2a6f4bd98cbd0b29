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

// A minority of places that does not answer costs no time, whichever it is.
func TestFrozenNodeCostsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n      int
		frozen []int
	}{{3, nil}, {3, []int{0}}, {3, []int{1}}, {3, []int{2}}, {4, []int{0}}, {5, []int{0, 1}}, {5, []int{1, 4}}, {5, []int{2, 3}}} {
		t.Run(fmt.Sprint(c.n, " places, frozen: ", c.frozen), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, c.n)
				e := s.client(steady)
				for _, i := range c.frozen {
					s.places[i].freeze()
				}
				if d := took(func() { s.take(e, "owner") }); d != 20*ms {
					t.Errorf("Take takes %v", d)
				}
				if d := took(func() {
					if err := s.renew(e, "owner"); err != nil {
						t.Errorf("Renew: %v", err)
					}
				}); d != 20*ms {
					t.Errorf("Renew takes %v", d)
				}
				if d := took(func() { s.release(e, "owner") }); d != 20*ms {
					t.Errorf("Release takes %v", d)
				}
				for _, i := range c.frozen {
					s.places[i].thaw()
				}
				time.Sleep(time.Second)
				if s.free() != c.n {
					t.Errorf("only %d places are free in the end", s.free())
				}
			})
		})
	}
}

// The release of the lease before reaches the arbiter after the next take, since its answer to the take before is late. Two of the others freeze in that moment,
// so a majority needs the arbiter: it is asked again, and nobody waits for those two.
func TestArbiterThatIsReleasedLateIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 5)
		arbiter := s.client(steady).arbiter(key).index
		var late atomic.Bool
		e := s.client(network{plan: func(place int, method string) fate {
			if place == arbiter && method == "take" && !late.Swap(true) {
				return fate{before: 10 * ms, after: 40 * ms}
			}
			return fate{before: 10 * ms, after: 10 * ms}
		}})
		s.take(e, "first")
		s.release(e, "first")
		for _, i := range []int{1, 2} {
			s.places[(arbiter+i)%5].freeze()
		}
		defer func() {
			for _, p := range s.places {
				p.thaw()
			}
			time.Sleep(time.Second)
			if s.free() != 5 {
				t.Errorf("only %d places are free in the end", s.free())
			}
		}()
		if d := took(func() { s.take(e, "second") }); d > 60*ms {
			t.Errorf("Take takes %v", d)
		}
		s.release(e, "second")
	})
}

func TestFrozenMajorityIsUnavailable(t *testing.T) {
	t.Parallel()
	for n, frozen := range map[int][]int{3: {0, 2}, 4: {1, 2}, 5: {0, 2, 4}} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, n)
			e := s.client(steady)
			for _, i := range frozen {
				s.places[i].freeze()
			}
			began := time.Now()
			_, err := e.Take(t.Context(), request("owner"))
			if waited := time.Since(began); waited > e.patience() {
				t.Errorf("no answer for %v, the limit is %v", waited, e.patience())
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
			s.recover(e, "owner")
			s.take(e, "holder")
			time.Sleep(time.Second)
			for _, i := range frozen {
				s.places[i].freeze()
			}
			if err := s.renew(e, "holder"); err == nil || driver.IsNo(err) {
				t.Errorf("renewal: %v, want an unknown outcome", err)
			}
			if err := e.Release(t.Context(), driver.Release{Hold: hold("holder")}); err == nil || driver.IsNo(err) {
				t.Errorf("release: %v, want an unknown outcome", err)
			}
			s.recover(e, "holder")
		})
	}
}

// recover thaws all places, and releases an owner once more, as the library does after an unknown outcome.
func (s *stage) recover(e *Engine, owner string) {
	for _, p := range s.places {
		p.thaw()
	}
	time.Sleep(time.Second)
	if err := e.Release(s.t.Context(), driver.Release{Hold: hold(owner)}); err != nil && !driver.IsNo(err) {
		s.t.Errorf("release when all is well: %v", err)
	}
	time.Sleep(time.Second)
	if s.free() != len(s.places) {
		s.t.Errorf("only %d places are free in the end", s.free())
	}
}

func TestLateGrantStaysIfTheLockIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		e := s.client(network{plan: func(place int, _ string) fate { return fate{before: time.Duration(place) * 200 * ms} }})
		if d := took(func() { s.take(e, "owner") }); d != 200*ms {
			t.Errorf("Take takes %v", d)
		}
		time.Sleep(time.Second)
		if s.free() != 0 {
			t.Errorf("%d places do not have it", s.free())
		}
		s.release(e, "owner")
		time.Sleep(time.Second)
	})
}

func TestLateGrantGoesIfTheLockIsNotHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		var last int // the arbiter is waited for in any case
		slow := s.client(network{plan: func(place int, method string) fate {
			if place == last && method == "take" {
				return fate{before: 200 * ms, after: 200 * ms}
			}
			return fate{}
		}})
		order := slow.arbiters(key)
		last = order[2].index
		s.takeOn(order[0].index, request("other"))
		s.takeOn(order[1].index, request("other"))
		var err error
		if d := took(func() { _, err = slow.Take(t.Context(), request("owner")) }); d > 10*ms || !errors.Is(err, driver.ErrHeld) {
			t.Errorf("%v after %v, want a no at once", err, d)
		}
		time.Sleep(300 * ms)
		if s.free() != 0 {
			t.Fatal("the late grant is not there: the test proves nothing")
		}
		time.Sleep(150 * ms)
		if s.free() != 1 {
			t.Error("the late grant is still there")
		}
	})
}

// Those who wait on a place that stops answering go on at the next one.
func TestWaitersLeaveAFrozenArbiter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 4, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, n)
			holder := s.client(steady)
			s.take(holder, "holder")
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
					s.give(e, joining(owner), g)
				}()
			}
			time.Sleep(3 * time.Second)
			arbiter := holder.arbiters(key)[0].index
			s.places[arbiter].freeze()
			began := time.Now()
			s.release(holder, "holder")
			last := began
			for range waiters {
				at := <-granted
				t.Logf("%d places: granted %v after the arbiter froze, %v after the one before", n, at.Sub(began), at.Sub(last))
				if at.Sub(began) > 2*time.Second {
					t.Errorf("granted %v after the arbiter froze", at.Sub(began))
				}
				last = at
			}
			s.places[arbiter].thaw()
			time.Sleep(time.Second)
		})
	}
}

// What a majority grants when nothing of the lease is left is no lease, and is given back.
func TestLateGrantIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 3)
		e := s.client(network{plan: func(_ int, method string) fate {
			if method == "take" {
				return fate{after: 300 * ms}
			}
			return fate{}
		}})
		for _, c := range []struct {
			ttl, least time.Duration
			granted    bool
		}{{306 * ms, 0, true}, {305 * ms, 0, false}, {407 * ms, 100 * ms, true}, {405 * ms, 100 * ms, false}} { // 1 % and 2 ms are for drift
			r := request(fmt.Sprint(c))
			r.TTL = c.ttl
			e.Least = c.least
			_, err := e.Take(t.Context(), r)
			if (err == nil) != c.granted {
				t.Errorf("%+v: %v", c, err)
			}
			if err == nil {
				s.release(e, r.Owner)
			}
			time.Sleep(time.Millisecond)
			if s.free() != 3 {
				t.Errorf("%+v: %d places are free", c, s.free())
			}
		}
	})
}

// Two try at the same moment, and two of five places are frozen. One has the arbiter, the other one both of the rest. Neither has a majority before one gives way: that is the one whom
// the arbiter refuses, and does so long before the other one gives up.
func TestWhomTheArbiterRefusesGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 5)
		order := s.client(steady).arbiters(key)
		near := func(to ...*node) network { // 5 ms away, and the others twice as far
			return network{plan: func(place int, _ string) fate {
				if slices.ContainsFunc(to, func(n *node) bool { return n.index == place }) {
					return fate{before: 5 * ms, after: 5 * ms}
				}
				return fate{before: 10 * ms, after: 10 * ms}
			}}
		}
		refused, chosen := s.client(near(order[1], order[2])), s.client(near(order[0]))
		for _, n := range order[3:] {
			s.places[n.index].freeze()
		}
		gaveWay := make(chan error)
		go func() {
			_, err := refused.Take(t.Context(), request("refused"))
			gaveWay <- err
		}()
		var err error
		if d := took(func() { _, err = chosen.Take(t.Context(), request("chosen")) }); err != nil || d > nodeTimeout/2 {
			t.Errorf("the one with the arbiter, after %v: %v", d, err)
		}
		if err := <-gaveWay; !errors.Is(err, driver.ErrHeld) {
			t.Errorf("the one whom the arbiter refuses: %v", err)
		}
		for _, p := range s.places {
			p.thaw()
		}
		time.Sleep(2 * time.Second) // what has waited for them goes on
	})
}
