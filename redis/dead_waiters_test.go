package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Waiters that were killed make room for others, even if the lock is never released.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	mustTake(t, e, lasting("a", time.Minute))
	joining := func() driver.Request {
		r := lasting("a", time.Minute)
		r.Join, r.MaxWaiters = true, 21
		return r
	}
	first := joining()
	startWait(t, e, mustJoin(t, e, first))
	awaitSubscriptions(t, s, 1)
	addWaiters(t, s, "a", 20, "P", 30*time.Second)
	isFull := func() bool {
		t.Helper()
		_, err := e.Take(t.Context(), joining())
		if err != nil && !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrTooManyWaiters) {
			t.Fatal(err)
		}
		return errors.Is(err, driver.ErrTooManyWaiters)
	}
	for range 30 {
		if !isFull() {
			t.Fatal("waiters that may still live were removed from the queue")
		}
	}
	makeUnseen(t, s, "{lock:a}:info", 2*time.Minute)
	eventually(t, "there is room", func() bool { return !isFull() })
	if place, err := e.Take(t.Context(), first); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take by a waiter: %v, %v", place, err)
	}
	if st := status(t, e, first.Key); st.Waiting > 21 || st.Waiting < 2 {
		t.Errorf("%d wait, want those that live", st.Waiting)
	}
}

// A release skips any number of dead waiters, but no script looks at many: meanwhile, the server does nothing else.
func TestTheDeadAreSkippedInShortScripts(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	first := lasting("a", time.Minute)
	mustTake(t, e, first)
	const dead = 1000
	addWaiters(t, s, "a", dead, "P", 0)
	next := mustJoin(t, e, lasting("a", time.Minute))
	got := startWait(t, e, next)
	commands, scripts := commandsRun(t, s), scriptCalls(t, s)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(first)}); err != nil {
		t.Fatal(err)
	}
	commands, scripts = commandsRun(t, s)-commands, scriptCalls(t, s)-scripts
	if st := status(t, e, first.Key); st.Waiting != 0 || len(st.Holders) != 1 {
		t.Errorf("after the release, %d wait and %d hold", st.Waiting, len(st.Holders))
	}
	if g := granted(t, got); g.Token == 0 {
		t.Errorf("the waiter behind the dead was granted %+v", g)
	}
	if scripts < dead/50 || commands/scripts > 300 {
		t.Errorf("%d scripts ran %d commands, so some take long", scripts, commands)
	}
}

// So does a take that does not wait.
func TestATakeSkipsAllTheDead(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	addWaiters(t, s, "a", 1000, "P", 0)
	r := lasting("a", time.Minute)
	r.Mode = driver.Shared
	mustTake(t, e, r)
	if st := status(t, e, r.Key); st.Waiting != 0 {
		t.Errorf("%d wait", st.Waiting)
	}
}

// A release and a downgrade grant a lock to any number of readers, but no script to many.
func TestReadersAreGrantedInShortScripts(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for name, end := range map[string]func(driver.Request) error{
		"Release":   func(r driver.Request) error { return e.Release(t.Context(), driver.Release{Hold: hold(r)}) },
		"Downgrade": func(r driver.Request) error { return e.Downgrade(t.Context(), hold(r)) },
	} {
		first := lasting(name, time.Minute)
		mustTake(t, e, first)
		const readers = 200
		var got []<-chan grant
		for range readers {
			r := lasting(name, time.Minute)
			r.Mode = driver.Shared
			got = append(got, startWait(t, e, mustJoin(t, e, r)))
		}
		scripts := scriptCalls(t, s)
		if err := end(first); err != nil {
			t.Fatal(err)
		}
		if scripts = scriptCalls(t, s) - scripts; scripts < readers/50 {
			t.Errorf("%s: %d scripts granted a lock to %d readers: too many in one", name, scripts, readers)
		}
		if st := status(t, e, first.Key); st.Waiting != 0 || len(st.Holders) < readers {
			t.Errorf("%s: %d wait and %d hold", name, st.Waiting, len(st.Holders))
		}
		for _, g := range got {
			granted(t, g)
		}
	}
}

// If very many shared leases end at once, no script removes them all. Until they are removed, they are neither renewed
// nor released, and the next holders are counted rightly.
func TestEndedLeasesAreRemovedInShortScripts(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const ended = 1000
	end := func(name string) { endedPermits(t, s, name, ended) }
	permit := func(name, owner string) driver.Request {
		r := permitsOf(name, 1, 2)
		r.Owner = owner
		return r
	}

	end("a")
	last := permit("a", fmt.Sprint("owner", ended))
	if err := renewOne(t.Context(), e, hold(last), time.Minute); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("an ended lease was renewed: %v", err)
	}
	end("a")
	if err := e.Release(t.Context(), driver.Release{Hold: hold(last)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("an ended lease was released: %v", err)
	}
	mustTake(t, e, last)
	if st := status(t, e, last.Key); len(st.Holders) != 2 {
		t.Errorf("%d hold, want the one that lived and the new one", len(st.Holders))
	}
	if _, err := e.Take(t.Context(), permit("a", "another")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("a third of two permits: %v", err)
	}
	for _, owner := range []string{"alive", last.Owner} {
		if err := e.Release(t.Context(), driver.Release{Hold: hold(permit("a", owner))}); err != nil {
			t.Error(err)
		}
	}
	mustTake(t, e, permit("a", "third"))
	mustTake(t, e, permit("a", "fourth"))

	end("b") // its last holder leaves while ended ones are still there, and somebody waits
	next := permit("b", "next")
	next.Size = 1
	mustJoin(t, e, next)
	end("b") // joining has removed them
	commands := commandsRun(t, s)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(permit("b", "alive"))}); err != nil {
		t.Error(err)
	}
	if commands = commandsRun(t, s) - commands; commands > 300 {
		t.Errorf("a release ran %d commands", commands)
	}
	if st := status(t, e, next.Key); st.Waiting != 0 || len(st.Holders) != 1 {
		t.Errorf("after the release, %d wait and %d hold", st.Waiting, len(st.Holders))
	}
	granted(t, startWait(t, e, next))
	mustTake(t, e, permit("b", "third"))
}

// commandsRun returns how many commands a server has run, with those in scripts.
func commandsRun(t *testing.T, s *redisserver.Server) (n int) {
	t.Helper()
	_, behind, _ := strings.Cut(fmt.Sprint(command(t, s, "INFO", "stats")), "total_commands_processed:")
	if _, err := fmt.Sscan(behind, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
