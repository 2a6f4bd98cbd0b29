package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// leaveTakes sends takes of all kinds to a server that stands still, leaves them, and lets the server go on. It returns
// those that may still take effect. On a busy machine few are sent before they are left: then it waits for longer.
func leaveTakes(t *testing.T, e *redis.Engine, servers ...*redisserver.Server) (left []driver.Request) {
	t.Helper()
	mustTake(t, e, lasting("{x}first", time.Minute)) // the server is known
	for within := 100 * time.Millisecond; within < patience; within *= 3 {
		if left = leaveTakesAfter(t, within, e, servers...); len(left) >= 5 {
			return left
		}
	}
	t.Fatalf("only %d takes were sent", len(left))
	return nil
}

// leaveTakesAfter is one attempt, which leaves the takes after a while.
func leaveTakesAfter(
	t *testing.T, within time.Duration, e *redis.Engine, servers ...*redisserver.Server,
) (left []driver.Request) {
	t.Helper()
	var all []driver.Request
	for i := range 5 {
		several := lasting(fmt.Sprint("{x}tokens", i, within), time.Hour)
		several.Tokens = 5
		all = append(all, lasting(fmt.Sprint("{x}lock", i, within), time.Hour), several,
			shared(lasting(fmt.Sprint("{x}shared", i, within), time.Hour)))
	}
	for _, s := range servers {
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	errs := make([]error, len(all))
	var takes sync.WaitGroup
	for i, r := range all {
		takes.Go(func() { _, errs[i] = e.Take(ctx, r) })
	}
	takes.Wait()
	for _, s := range servers {
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	for i, err := range errs {
		switch {
		case driver.IsSpent(err):
			left = append(left, all[i])
		case !errors.Is(err, context.DeadlineExceeded): // it was never sent, or the client itself gave up
			t.Errorf("%s: %v", all[i].Name, err)
		}
	}
	return left
}

// What a take is granted after its caller has left is released.
func TestTakesThatAreLeftAreReleased(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, client newClient, servers ...*redisserver.Server) {
		other := unguarded(t, client)
		for _, r := range leaveTakes(t, unguarded(t, client), servers...) {
			again := r
			again.Owner, again.Mode = r.Owner+"-other", driver.Exclusive
			eventually(t, r.Name+" is free", func() bool {
				_, err := other.Take(t.Context(), again)
				return err == nil
			})
		}
	}
	t.Run("Server", func(t *testing.T) {
		t.Parallel()
		s := redisserver.ForTest(t, redisserver.Config{})
		check(t, standalone(s), s)
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
		check(t, cluster(c), c.Nodes...)
	})
}

// Not by an engine that is one of several nodes: it does not know whether the late vote counts.
func TestNodesKeepTheVotesOfTakesThatAreLeft(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, other := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	e.Among(func(string) error { return nil })
	left := leaveTakes(t, e, s)
	var held []driver.Request
	eventually(t, "most of them are held", func() bool { // some were perhaps left before they were sent
		held = slices.DeleteFunc(slices.Clone(left), func(r driver.Request) bool {
			all, err := other.List(t.Context(), driver.Query{Name: r.Name})
			return err != nil || len(all) == 0
		})
		return len(held) > len(left)/2
	})
	for _, kind := range []string{"{x}lock", "{x}tokens", "{x}shared"} {
		ofKind := func(r driver.Request) bool { return strings.HasPrefix(r.Name, kind) }
		other := func(r driver.Request) bool { return !ofKind(r) }
		if len(slices.DeleteFunc(slices.Clone(left), other)) >= 2 && !slices.ContainsFunc(held, ofKind) {
			t.Errorf("of %v only %v are held, none of which begins with %s", left, held, kind)
		}
	}
	mustTake(t, e, lasting("{x}last", time.Minute)) // time to release them
	for _, r := range held {
		if err := other.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
			t.Errorf("%s is not held: %v", r.Name, err)
		}
	}
}

// A take that is refused only after its owner was released leaves no waiter behind: the name would count as wanted for
// ever.
func TestLateRefusalLeavesNoWaiter(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redis.Option{"polling": {redis.WithPolling()}, "messages": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			p := redisserver.ProxyForTest(t, s.Addr())
			e, others := unguarded(t, slowClient(p.Addr()), opts...), unguarded(t, standalone(s))
			mustTake(t, others, lasting("a", time.Minute))
			mustTake(t, others, lasting("b", time.Minute))
			mustJoin(t, e, lasting("b", time.Minute)) // opens the channel
			r := shared(lasting("a", time.Second))
			r.Join = true
			held := make(chan struct{})
			p.Intercept(func(request []byte) redisserver.Action {
				if slices.Contains(redisserver.Words(request), r.Owner) {
					p.Intercept(nil)
					close(held)
					return redisserver.Hold
				}
				return redisserver.Pass
			})
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan error, 1)
			go func() { _, err := e.Take(ctx, r); got <- err }()
			<-held
			cancel()
			if err := <-got; !driver.IsSpent(err) {
				t.Errorf("a take that was left: %v", err)
			}
			if err := e.Release(t.Context(), driver.Release{Hold: hold(r), Place: r.Owner}); !driver.IsNo(err) {
				t.Errorf("release: %v", err)
			}
			p.Release()
			time.Sleep(500 * time.Millisecond) // whatever comes late
			if e.Wanted(r.Key) {
				t.Error("the name is still wanted")
			}
		})
	}
}
