package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// persistent configures servers that keep everything over a crash.
var persistent = redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}}

// restart kills a server, and starts it again with what it has kept.
func restart(t *testing.T, s *redisserver.Server) {
	t.Helper()
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
}

// checkClosed fails the test unless a take is refused because grants are closed, for no longer than this after the
// restart.
func checkClosed(t *testing.T, e *redis.Engine, name string, restarted time.Time, longest time.Duration) {
	t.Helper()
	_, err := e.Take(t.Context(), lock(name))
	if err == nil && time.Since(restarted) > longest {
		t.Skip("the machine is so busy that grants have opened meanwhile")
	}
	closed, ok := errors.AsType[*redis.ClosedError](err)
	if !ok || !driver.HadNoEffect(err) || driver.IsPermanent(err) || driver.IsNo(err) {
		t.Errorf("Take of %q: %v, want a ClosedError, without effect", name, err)
		return
	}
	if left := time.Until(closed.Open); left <= 0 || left > longest+longest/50 {
		t.Errorf("grants open in %v, want within %v", left, longest)
	}
}

// A paused server answers nothing, so all outcomes are unknown. When it goes on, everything is as it was, except that
// time has passed.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, noRetries(s.Addr()))
	holder, short := lasting("a", 30*time.Second), lasting("b", time.Second)
	mustTake(t, e, holder)
	next := mustJoin(t, e, lasting("a", 30*time.Second))
	got := startWait(t, e, next)
	mustTake(t, e, short)

	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	outcomes := make(chan error)
	for _, ask := range []func() error{
		func() error { _, err := e.Take(ctx, lock("new")); return err },
		func() error { return renewOne(ctx, e, hold(holder), time.Minute) },
		func() error { return e.Release(ctx, driver.Release{Hold: hold(lock("c"))}) },
	} {
		go func() { outcomes <- ask() }()
	}
	for range 3 {
		if err := <-outcomes; err == nil || driver.IsNo(err) {
			t.Errorf("a paused server has answered: %v", err)
		}
	}
	<-time.After(short.TTL) // the server's clock goes on
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := renewOne(t.Context(), e, hold(holder), time.Minute); err != nil {
		t.Errorf("renewal of a lease that goes on: %v", err)
	}
	if err := renewOne(t.Context(), e, hold(short), time.Minute); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("renewal of a lease that has ended: %v, want ErrNotHeld", err)
	}
	began := time.Now()
	release(t, e, holder)
	if took := granted(t, got).at.Sub(began); took > soon {
		t.Errorf("the waiter had the lock after %v, want at once", took)
	}
	release(t, e, next)
}

// A server that keeps nothing forgets who holds. Without the guard, a lock is granted twice after a restart: this is
// what the guard is for. Tokens grow nevertheless.
func TestEmptyRestartWithoutGuard(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	holder, second := lasting("a", time.Minute), lasting("a", time.Minute)
	began := driver.Now()
	first := mustTake(t, a, holder)
	restart(t, s)
	g := mustTake(t, b, second)
	if holds := holder.TTL - driver.Now().Since(began); holds <= 0 {
		t.Fatalf("the first lease has ended %v ago: the test shows nothing", -holds)
	}
	if g.Token <= first.Token {
		t.Errorf("token %d was given after %d", g.Token, first.Token)
	}
	if err := renewOne(t.Context(), a, hold(holder), time.Minute); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("renewal of the forgotten lease: %v, want ErrNotHeld", err)
	}
	release(t, b, second)
}

// With the guard, nothing is granted after such a restart until all leases from before it have ended.
func TestEmptyRestart(t *testing.T) {
	t.Parallel()
	const maxTTL = 3 * time.Second
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	guarded := redis.WithMaxTTL(maxTTL)
	a, b := open(t, standalone(s), guarded), open(t, standalone(s), guarded)
	holder := lasting("a", maxTTL)
	first := mustTake(t, a, holder)
	restarted := time.Now()
	restart(t, s)
	for name, e := range map[string]*redis.Engine{"one that was there": a, "another": b,
		"a new one": open(t, standalone(s), guarded)} {
		checkClosed(t, e, "a", restarted, maxTTL)
		checkClosed(t, e, name, restarted, maxTTL)
	}
	if err := renewOne(t.Context(), a, hold(holder), maxTTL); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("renewal of the forgotten lease: %v, want ErrNotHeld", err)
	}
	second := lasting("a", maxTTL)
	g := acquire(t.Context(), t, b, second)
	if took := time.Since(restarted); took < maxTTL || took > 2*maxTTL+soon {
		t.Errorf("a waiter had the lock %v after the restart, want when grants open, after %v", took, maxTTL)
	}
	if g.Token <= first.Token {
		t.Errorf("token %d was given after %d", g.Token, first.Token)
	}
	release(t, b, second)
	checkNothingLeft(t, s)
}

// If a server loses everything, those who already wait are told that grants are closed. They get the lock when grants
// open.
func TestWaitersAreToldOfAnEmptyRestart(t *testing.T) {
	t.Parallel()
	const maxTTL = 3 * time.Second
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	guarded := redis.WithMaxTTL(maxTTL)
	a, b := open(t, standalone(s), guarded), open(t, standalone(s), guarded)
	mustTake(t, a, lasting("a", maxTTL))
	next := mustJoin(t, b, lasting("a", maxTTL))
	outcome := make(chan error, 1)
	go func() {
		for {
			_, err := b.Wait(t.Context(), next)
			if err == nil || errors.Is(err, driver.ErrHeld) || t.Context().Err() != nil {
				outcome <- err
				return
			}
		}
	}()
	awaitSubscriptions(t, s, 1)
	restart(t, s)
	err := <-outcome
	if _, closed := errors.AsType[*redis.ClosedError](err); !closed || !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Wait: %v, want that grants are closed", err)
	}
	if _, err := b.Wait(t.Context(), next); err != nil {
		t.Errorf("Wait for grants to open: %v", err)
	}
}

// A server that keeps everything knows its holders after a restart. They renew and release, but what is free is granted
// only when grants open: the guard cannot know that nothing is missing.
func TestRestart(t *testing.T) {
	t.Parallel()
	const maxTTL = 3 * time.Second
	s := redisserver.ForTest(t, persistent)
	trust(t, s)
	guarded := redis.WithMaxTTL(maxTTL)
	a, b := open(t, standalone(s), guarded), open(t, standalone(s), guarded)
	holder := lasting("a", maxTTL)
	first := mustTake(t, a, holder)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := mustJoin(t, b, lasting("a", maxTTL))
	got := make(chan grant, 1)
	go func() {
		g, err := takeDespiteErrors(ctx, b, next)
		got <- grant{g, err, time.Now()}
	}()
	awaitSubscriptions(t, s, 1)

	restarted := time.Now()
	restart(t, s)
	checkClosed(t, a, "free", restarted, maxTTL)
	if _, err := b.Take(t.Context(), lock("a")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what is held: %v, want ErrHeld", err)
	}
	if err := renewOne(t.Context(), a, hold(holder), maxTTL); err != nil {
		t.Errorf("renewal: %v", err)
	}
	if g := mustTake(t, a, holder); g.Token != first.Token {
		t.Errorf("the holder has token %d now, had %d", g.Token, first.Token)
	}
	release(t, a, holder)
	second := granted(t, got)
	if took := second.at.Sub(restarted); took < maxTTL || took > 2*maxTTL+soon {
		t.Errorf("a waiter had the lock %v after the restart, want when grants open, after %v", took, maxTTL)
	}
	if second.Token <= first.Token {
		t.Errorf("token %d was given after %d", second.Token, first.Token)
	}
	free := lock("free")
	acquire(t.Context(), t, a, free) // grants open for each engine at a moment of its own
	release(t, a, free)
	release(t, b, next)
	checkNothingLeft(t, s)
}

// Without the guard, a server that keeps everything goes on as if nothing had happened.
func TestRestartWithoutGuard(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, persistent)
	a, b := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	holder := lasting("a", 30*time.Second)
	mustTake(t, a, holder)
	next := mustJoin(t, b, lasting("a", 30*time.Second))
	restart(t, s)
	if err := renewOne(t.Context(), a, hold(holder), time.Minute); err != nil {
		t.Errorf("renewal: %v", err)
	}
	if st := status(t, b, holder.Key); st.Waiting != 1 {
		t.Errorf("%d wait, want 1", st.Waiting)
	}
	got := startWait(t, b, next)
	awaitSubscriptions(t, s, 1)
	began := time.Now()
	release(t, a, holder)
	if took := granted(t, got).at.Sub(began); took > soon {
		t.Errorf("the waiter had the lock after %v, want at once", took)
	}
	release(t, b, next)
	checkNothingLeft(t, s)
}

// A release while grants are closed notifies nobody. Waiters poll when grants open.
func TestReleaseWhileGrantsAreClosed(t *testing.T) {
	t.Parallel()
	const maxTTL = 4 * time.Second
	s := redisserver.ForTest(t, persistent)
	trust(t, s)
	a, b := open(t, standalone(s), redis.WithMaxTTL(maxTTL)), open(t, standalone(s), redis.WithMaxTTL(maxTTL))
	holder, next := lasting("a", maxTTL), lasting("a", maxTTL)
	mustTake(t, a, holder)
	restarted := time.Now()
	restart(t, s)
	checkClosed(t, b, "free", restarted, maxTTL)
	var renewed time.Time
	for renewed.Sub(restarted) < maxTTL*3/4 { // so that its lease ends long after grants open
		renewed = time.Now()
		if err := renewOne(t.Context(), a, hold(holder), maxTTL); err != nil {
			t.Fatal(err)
		}
		<-time.After(maxTTL / 40)
	}
	next = mustJoin(t, b, next)
	got := startWait(t, b, next)
	release(t, a, holder)
	second := granted(t, got)
	if took := second.at.Sub(restarted); took < maxTTL || second.at.Sub(renewed) >= maxTTL {
		t.Errorf("a waiter had the lock %v after the restart and %v after the renewal, want when grants open, after "+
			"%v, before the released lease would have ended", took, second.at.Sub(renewed), maxTTL)
	}
	release(t, b, next)
}
