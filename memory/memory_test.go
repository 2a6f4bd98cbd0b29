package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

func take(t *testing.T, e *memory.Engine, r driver.Request) driver.Grant {
	t.Helper()
	g, err := e.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take of %q by %s: %v", r.Name, r.Owner, err)
	}
	return g
}

func release(t *testing.T, e *memory.Engine, r driver.Request) {
	t.Helper()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil {
		t.Fatalf("Release of %q by %s: %v", r.Name, r.Owner, err)
	}
}

func TestLeaseEndsOnVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		take(t, e, request("name", "first"))
		began := time.Now()
		g, err := e.Wait(t.Context(), request("name", "second"))
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 30*time.Second {
			t.Errorf("the second waited for %v, want the lease of the first", waited)
		}
		if since := driver.Now().Since(g.Start); since != 0 {
			t.Errorf("Start is %v ago, want the moment of the grant", since)
		}
	})
}

func TestStartIsTheMomentOfTheGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		first, second := request("name", "first"), request("name", "second")
		take(t, e, first)
		began := driver.Now()
		grants := make(chan driver.Grant, 1)
		go func() {
			g, err := e.Wait(t.Context(), second)
			if err != nil {
				t.Error(err)
			}
			grants <- g
		}()
		time.Sleep(10 * time.Second)
		release(t, e, first)
		if got := (<-grants).Start.Since(began); got != 10*time.Second {
			t.Errorf("the grant starts %v after the Wait, want the moment of the release, 10s", got)
		}
		if _, err := e.Wait(t.Context(), request("name", "third")); err != nil {
			t.Fatal(err)
		}
		if got := driver.Now().Since(began); got != 40*time.Second {
			t.Errorf("the lease ended %v after the Wait, want 30s after the grant, 40s", got)
		}
	})
}

func TestNoTimerIsLeftWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	clock := &countingClock{Clock: memory.NewManualClock(time.Unix(0, 0))}
	e := memory.New(memory.WithClock(clock))
	first, second := request("name", "first"), request("name", "second")
	second.Join = true

	take(t, e, first)
	if clock.pending != 0 {
		t.Errorf("%d timers while nobody waits", clock.pending)
	}
	if _, err := e.Take(t.Context(), second); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	if clock.pending != 1 {
		t.Errorf("%d timers while one waits, want 1", clock.pending)
	}
	release(t, e, first)
	if clock.pending != 0 {
		t.Errorf("%d timers after the hand-over, want none", clock.pending)
	}
}

// countingClock counts the timers that are armed.
type countingClock struct {
	memory.Clock
	pending int
}

func (c *countingClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.pending++
	stop := c.Clock.AfterFunc(d, func() { c.pending--; f() })
	return func() bool {
		stopped := stop()
		if stopped {
			c.pending--
		}
		return stopped
	}
}

func TestLateRequestDoesNotShortenALease(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(time.Unix(0, 0))
	e := memory.New(memory.WithClock(clock))
	r := request("name", "owner")
	take(t, e, r)

	renew(t, e, r, time.Hour)
	renew(t, e, r, time.Second)
	take(t, e, r)
	clock.Advance(59 * time.Minute)
	renew(t, e, r, time.Second)
}

func renew(t *testing.T, e *memory.Engine, r driver.Request, ttl time.Duration) {
	t.Helper()
	e.Renew(t.Context(), []driver.Renewal{{Hold: hold(r), TTL: ttl}}, func(_ int, err error) {
		if err != nil {
			t.Errorf("Renew of %q by %s: %v", r.Name, r.Owner, err)
		}
	})
}

func TestEndlessLeaseDoesNotOverflow(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(time.Unix(0, 0))
	e := memory.New(memory.WithClock(clock))
	clock.Advance(time.Hour)
	r := request("name", "first")
	r.TTL = 1<<63 - 1
	take(t, e, r)
	if _, err := e.Take(t.Context(), request("name", "second")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of a name held for ever: %v, want ErrHeld", err)
	}
}

func TestTokenRangeIsLimited(t *testing.T) {
	t.Parallel()
	e := memory.New()
	r := request("name", "owner")
	r.Tokens = math.MaxInt32
	g := take(t, e, r)
	if g.Tokens < 1 || g.Tokens > 1<<20 {
		t.Errorf("one grant reserved %d tokens: others need some too", g.Tokens)
	}
}

func TestTakeWithAnEndedContext(t *testing.T) {
	t.Parallel()
	e := memory.New()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Take(ctx, request("name", "first")); !errors.Is(err, context.Canceled) || !driver.HadNoEffect(err) {
		t.Errorf("Take with an ended context: %v, want context.Canceled without effect", err)
	}
	take(t, e, request("name", "second"))
}

// A page is full if there are enough names for it, even if the first ones have expired.
func TestPageIsFilledBehindExpiredLocks(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(time.Unix(0, 0))
	e := memory.New(memory.WithClock(clock))
	for _, name := range []string{"a", "b", "c"} {
		take(t, e, request(name, "owner"))
	}
	clock.Advance(time.Minute)
	take(t, e, request("d", "owner"))
	page, err := e.List(t.Context(), driver.Query{Limit: 1})
	if err != nil || len(page) != 1 || page[0].Name != "d" {
		t.Errorf("List: %+v, %v; want d", page, err)
	}
}

func TestALatchCannotBeTaken(t *testing.T) {
	t.Parallel()
	r := request("name", "owner")
	r.Kind = driver.Latch
	if _, err := memory.New().Take(t.Context(), r); !driver.IsPermanent(err) {
		t.Errorf("Take of a latch: %v, want a permanent error", err)
	}
}

func TestWaitJoinsAgainWhenItsPlaceIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		first, second := request("name", "first"), request("name", "second")
		take(t, e, first)
		granted := make(chan error, 1)
		go func() {
			_, err := e.Wait(t.Context(), second)
			granted <- err
		}()
		synctest.Wait()
		if err := e.Release(t.Context(), driver.Release{Hold: hold(second)}); !errors.Is(err, driver.ErrNotHeld) {
			t.Fatal(err)
		}
		synctest.Wait()
		if !e.Wanted(second.Key) {
			t.Error("the waiter has not joined again")
		}
		release(t, e, first)
		if err := <-granted; err != nil {
			t.Error(err)
		}
	})
}

func TestEndedWaitReleasesAGrantItGot(t *testing.T) {
	t.Parallel()
	e := memory.New()
	first, second := request("name", "first"), request("name", "second")
	take(t, e, first)
	second.Join = true
	if _, err := e.Take(t.Context(), second); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	release(t, e, first) // the second holds, and does not know

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Wait(ctx, second); !errors.Is(err, context.Canceled) {
		t.Fatalf("Wait with an ended context: %v", err)
	}
	take(t, e, request("name", "third"))
}

// Expired locks that nobody asks about again must not pile up.
func TestExpiredLocksAreForgotten(t *testing.T) { // alone, since it measures the heap
	clock := memory.NewManualClock(time.Unix(0, 0))
	e := memory.New(memory.WithClock(clock))
	const rounds, perRound = 200, 500
	before := heap()
	for round := range rounds {
		for i := range perRound {
			name := fmt.Sprintf("name-%d-%d", round, i)
			take(t, e, request(name, "owner"))
			ok, err := e.TrySet(t.Context(), driver.LatchSet{Name: name, ID: "id", Count: 1, TTL: time.Second})
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		clock.Advance(time.Minute)
	}
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("%d expired locks and latches take %d KiB", 2*rounds*perRound, grown>>10)
	}
	take(t, e, request("name", "owner")) // the engine is still there
}
