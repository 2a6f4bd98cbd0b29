package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// slowNetwork is a network on which one request in four is slow.
func slowNetwork(seed uint64) networkPlan {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return networkPlan{plan: func(int, string) delivery {
		mu.Lock()
		defer mu.Unlock()
		maxDelay := int64(2 * ms)
		if rng.IntN(4) == 0 {
			maxDelay = int64(75 * ms)
		}
		return delivery{
			requestDelay: time.Duration(rng.Int64N(maxDelay)), replyDelay: time.Duration(rng.Int64N(maxDelay)),
		}
	}}
}

// Votes are split among 16 takers, and yet exactly one of them is granted the name.
func TestOneOfManyTakersIsGrantedTheName(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			s, to := newTestQuorum(t, 3+int(seed%3)), slowNetwork(seed)
			var mu sync.Mutex
			var all sync.WaitGroup
			var winners []string
			for i := range 16 {
				e, owner := s.client(to), fmt.Sprint("owner ", i)
				all.Go(func() {
					switch _, err := e.Take(t.Context(), request(owner)); {
					case err == nil:
						mu.Lock()
						winners = append(winners, owner)
						mu.Unlock()
					case !errors.Is(err, driver.ErrHeld):
						t.Errorf("%s: %v, want a grant or a refusal", owner, err)
					}
				})
			}
			all.Wait()
			if len(winners) != 1 {
				t.Errorf("seed %d: %d of 16 are granted the name: %v", seed, len(winners), winners)
			}
			time.Sleep(ttl)
		})
	}
}

// Votes are split among four takers. The arbiter refuses three of them, which learn that late. The fourth, to
// which it has granted the name, waits until they give way.
func TestSplitVotesAreResolved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			s := newTestQuorum(t, 4)
			arbiter := s.client(steady).arbiter(key).index
			near := func(own int) *Engine {
				e := s.client(networkPlan{plan: func(node int, _ string) delivery {
					switch {
					case node == own:
						return delivery{requestDelay: ms, replyDelay: ms}
					case node == arbiter:
						return delivery{requestDelay: 220 * ms, replyDelay: 220 * ms}
					}
					return delivery{requestDelay: 3 * ms, replyDelay: 3 * ms}
				}})
				e.random = rand.New(rand.NewPCG(seed, uint64(own))).Int64N
				return e
			}
			outcomes := make([]error, 4)
			var all sync.WaitGroup
			for own := range outcomes {
				e := near(own)
				all.Go(func() { _, outcomes[own] = e.Take(t.Context(), request(fmt.Sprint("owner ", own))) })
			}
			all.Wait()
			for own, err := range outcomes {
				if own == arbiter && err != nil || own != arbiter && !errors.Is(err, driver.ErrHeld) {
					t.Errorf("seed %d: the taker near node %d: %v; the arbiter is node %d", seed, own, err, arbiter)
				}
			}
			time.Sleep(ttl)
		})
	}
}

// Requests take up to 150 ms, a third of their limit. Even so, a name that many want is handed over without a
// long pause in which nobody gets it, also on an even number of nodes.
func TestNobodyIsLeftBehind(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			s, to := newTestQuorum(t, 3+int(seed%3)), slowNetwork(seed)
			var all sync.WaitGroup
			free := time.Now()
			var token uint64
			for i := range 6 {
				e := s.client(to)
				all.Go(func() {
					for turn := range 6 {
						owner := fmt.Sprint("owner ", i, " turn ", turn)
						g, err := e.Take(t.Context(), joining(owner))
						if errors.Is(err, driver.ErrHeld) {
							g, err = e.Wait(t.Context(), joining(owner))
						}
						if err != nil || g.Token <= token {
							t.Errorf("seed %d: %s: token %d after %d, %v", seed, owner, g.Token, token, err)
						}
						if d := time.Since(free); d > time.Second {
							t.Errorf("seed %d: nobody was granted the name for %v", seed, d)
						}
						token, free = g.Token, time.Now()
						s.releaseGrant(e, joining(owner), g)
					}
				})
			}
			all.Wait()
			time.Sleep(ttl)
		})
	}
}

// Waiters are served in the order in which they came, each soon after the one before.
func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := newTestQuorum(t, n)
			holder := s.client(steady)
			s.mustTake(holder, "holder")
			var all sync.WaitGroup
			var served []int
			var at []time.Time
			var token uint64
			for i := range 8 {
				e, owner := s.client(steady), fmt.Sprint("waiter ", i)
				all.Go(func() {
					if _, err := e.Take(t.Context(), joining(owner)); !errors.Is(err, driver.ErrHeld) {
						t.Errorf("%s: %v, want ErrHeld", owner, err)
					}
					g, err := e.Wait(t.Context(), joining(owner))
					if err != nil || g.Token <= token {
						t.Errorf("%s: token %d after %d, %v", owner, g.Token, token, err)
					}
					served, at, token = append(served, i), append(at, time.Now()), g.Token
					s.releaseGrant(e, joining(owner), g)
				})
				time.Sleep(100 * ms)
			}
			at = append(at, time.Now())
			s.mustRelease(holder, "holder")
			all.Wait()
			if !slices.IsSorted(served) {
				t.Errorf("served in the order %v", served)
			}
			for i, now := range at[1:] {
				if d := now.Sub(at[i]); d > 100*ms {
					t.Errorf("%d nodes: waiter %d had to wait for %v after the one before", n, i, d)
				}
			}
			time.Sleep(ttl)
		})
	}
}

// A holder learns that somebody waits. In the waiter's own process that is so even before the waiter has
// reached the queue.
func TestWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		holder, waiter := s.client(steady), s.client(steady)
		s.mustTake(holder, "holder")
		wanted := func(want bool) {
			t.Helper()
			if holder.Wanted(key) != want || waiter.Wanted(key) != want {
				t.Errorf("wanted: %v for the holder, %v for the waiter, want %v", holder.Wanted(key),
					waiter.Wanted(key), want)
			}
		}
		wanted(false)
		if _, err := waiter.Take(t.Context(), joining("waiter")); !errors.Is(err, driver.ErrHeld) {
			t.Fatalf("%v, want ErrHeld", err)
		}
		if !waiter.Wanted(key) {
			t.Error("not wanted although a caller is about to wait")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := waiter.Wait(ctx, joining("waiter")); !errors.Is(err, context.Canceled) {
				t.Errorf("Wait: %v", err)
			}
		}()
		time.Sleep(time.Second)
		wanted(true)
		cancel()
		<-done
		if err := waiter.Release(t.Context(), driver.Release{Hold: holdOf("waiter")}); err != nil && !driver.IsNo(err) {
			t.Errorf("release: %v", err)
		}
		time.Sleep(time.Second)
		wanted(false)
		s.mustRelease(holder, "holder")
	})
}

// A waiter whose arbiter is restarted is told so by Wait of that node. It goes on at another one, and does not wait
// until the arbiter grants again.
func TestArbiterIsRestartedWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestQuorum(t, 3)
		holder, e := s.client(steady), s.client(steady)
		s.mustTake(holder, "holder")
		if _, err := e.Take(t.Context(), joining("waiter")); !errors.Is(err, driver.ErrHeld) {
			t.Fatalf("take of a held name: %v", err)
		}
		granted := make(chan driver.Grant, 1)
		go func() {
			g, err := e.Wait(t.Context(), joining("waiter"))
			if err != nil {
				t.Errorf("wait: %v", err)
			}
			granted <- g
		}()
		time.Sleep(time.Second)
		arbiter := s.nodes[e.arbiters(key)[0].index]
		arbiter.crash(0, true)
		time.Sleep(time.Second)
		s.mustRelease(holder, "holder")
		released := time.Now()
		g := <-granted
		if late := time.Since(released); late > time.Second || time.Now().After(arbiter.opensAt()) {
			t.Errorf("granted %v after the release", late)
		}
		s.releaseGrant(e, joining("waiter"), g)
		time.Sleep(time.Second)
	})
}

// A caller that gives up at any moment and releases leaves nothing behind, and returns at once.
func TestGivingUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for at := time.Duration(0); at < 260*ms; at += 3 * ms {
		synctest.Test(t, func(t *testing.T) {
			s := newTestQuorum(t, 3)
			s.setCounters(9, 5, 7) // so that tokens are raised
			e := s.client(networkPlan{plan: steady.plan, skew: noClockSkew})
			if at/ms%2 == 0 || at > 80*ms { // otherwise the take would have ended before
				holder := s.client(steady)
				s.mustTake(holder, "holder")
				go func() {
					time.Sleep(120 * ms)
					s.mustRelease(holder, "holder")
				}()
			}
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan time.Time, 1)
			go func() {
				time.Sleep(at)
				stopped <- time.Now()
				cancel()
			}()
			g, err := e.Take(ctx, joining("owner"))
			if errors.Is(err, driver.ErrHeld) {
				g, err = e.Wait(ctx, joining("owner"))
			}
			if err != nil {
				if late := time.Since(<-stopped); late > 0 || !errors.Is(err, context.Canceled) {
					t.Errorf("given up at %v: %v, %v late", at, err, late)
				}
			}
			if err := e.Release(t.Context(),
				driver.Release{Hold: holdOf(cmp.Or(g.Owner, "owner"))}); err != nil && !driver.IsNo(err) {
				t.Errorf("given up at %v: release: %v", at, err)
			}
			time.Sleep(time.Second)
			if s.freeNodes() != 3 {
				t.Errorf("given up at %v: something is left", at)
			}
			if e.Wanted(key) || len(e.calls.byOwner) > 0 || len(e.calls.waiting) > 0 {
				t.Errorf("given up at %v: the engine still knows of it", at)
			}
			cancel()
		})
	}
}
