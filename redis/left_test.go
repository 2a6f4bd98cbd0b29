package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// leaveTakes sends takes of all kinds to a server that stands still, leaves them, and lets the server go on. It returns
// those that may still take effect.
func leaveTakes(t *testing.T, s *redisserver.Server, e *redis.Engine) (left []driver.Request) {
	t.Helper()
	mustTake(t, e, lasting("first", time.Minute)) // the server is known
	var all []driver.Request
	for i := range 5 {
		several := lasting(fmt.Sprint("tokens", i), time.Hour)
		several.Tokens = 5
		all = append(all, lasting(fmt.Sprint("lock", i), time.Hour), several,
			shared(lasting(fmt.Sprint("shared", i), time.Hour)))
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	errs := make([]error, len(all))
	var takes sync.WaitGroup
	for i, r := range all {
		takes.Go(func() { _, errs[i] = e.Take(ctx, r) })
	}
	takes.Wait()
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		switch {
		case driver.HadNoEffect(err): // it was never sent
		case driver.IsSpent(err):
			left = append(left, all[i])
		default:
			t.Errorf("%s: %v, want that its owner is spent", all[i].Name, err)
		}
	}
	if len(left) < 10 {
		t.Errorf("only %d takes were sent", len(left))
	}
	return left
}

// What a take is granted after its caller has left is released.
func TestTakesThatAreLeftAreReleased(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	other := unguarded(t, standalone(s))
	for _, r := range leaveTakes(t, s, unguarded(t, standalone(s))) {
		again := r
		again.Owner, again.Mode = r.Owner+"-other", driver.Exclusive
		eventually(t, r.Name+" is free", func() bool {
			_, err := other.Take(t.Context(), again)
			return err == nil
		})
	}
}

// Not by an engine that is one of several nodes: it does not know whether the late vote counts.
func TestNodesKeepTheVotesOfTakesThatAreLeft(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, other := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	e.Among(func(string) error { return nil })
	left := leaveTakes(t, s, e)
	for _, r := range left {
		eventually(t, r.Name+" is held", func() bool {
			all, err := other.List(t.Context(), driver.Query{Name: r.Name})
			return err == nil && len(all) > 0
		})
	}
	mustTake(t, e, lasting("last", time.Minute)) // time to release them
	for _, r := range left {
		if err := other.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
			t.Errorf("%s is not held: %v", r.Name, err)
		}
	}
}
