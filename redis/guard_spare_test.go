package redis_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// awaitUptime waits until a server says that it has run for longer than this.
func awaitUptime(t *testing.T, s *redisserver.Server, d time.Duration) {
	t.Helper()
	eventually(t, "the server has run for a while", func() bool {
		text, err := s.Info("uptime_in_seconds")
		seconds, wrong := strconv.Atoi(text)
		return err == nil && wrong == nil && time.Duration(seconds)*time.Second > d
	})
}

// mustBeClosed takes a lock that the server does not know to be held, and returns the error. It must say that grants
// are closed.
func mustBeClosed(t *testing.T, e *redis.Engine, r driver.Request) *redis.ClosedError {
	t.Helper()
	_, err := e.Take(t.Context(), r)
	closed, ok := errors.AsType[*redis.ClosedError](err)
	if !ok || !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Fatalf("Take of %q: %v, want a ClosedError without effect", r.Name, err)
	}
	return closed
}

// A server is replaced, under its address, by a spare that has run for a long time and knows no lease. Neither a new
// program nor one that knew the server is granted what is held: the spare's uptime proves nothing.
func TestSpareServer(t *testing.T) {
	t.Parallel()
	const maxTTL = 3 * time.Second
	first, spare := redisserver.ForTest(t, redisserver.Config{}), redisserver.ForTest(t, redisserver.Config{})
	trust(t, first)
	var at address
	at.Store(first)
	guard := redis.WithMaxTTL(maxTTL)
	holder, knew, idle := open(t, at.client, guard), open(t, at.client, guard), open(t, at.client, guard)
	for _, e := range []*redis.Engine{knew, idle} {
		r := lasting("other", maxTTL)
		mustTake(t, e, r)
		release(t, e, r)
	}
	awaitUptime(t, spare, maxTTL+time.Second)

	held := lasting("a", maxTTL)
	mustTake(t, holder, held)
	at.Store(spare)
	first.Kill()
	replaced := time.Now()
	for range 2 {
		_, err := open(t, at.client, guard).Take(t.Context(), lasting("a", maxTTL))
		closed, ok := errors.AsType[*redis.ClosedError](err)
		switch {
		case time.Since(replaced) > maxTTL: // the machine is busy
		case err == nil:
			t.Fatal("two hold one lock at the same time")
		case !ok || !closed.Unseen || closed.Open.Sub(replaced) < maxTTL:
			t.Errorf("a new engine after a server was replaced: %v, "+
				"want that the spare has no record of earlier use for %v", err, maxTTL)
		}
	}
	eventually(t, "an engine that knew the server finds the spare", func() bool {
		_, err := knew.Take(t.Context(), lasting("a", maxTTL))
		if err == nil && time.Since(replaced) < maxTTL {
			t.Fatal("two hold one lock at the same time")
		}
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed || time.Since(replaced) > maxTTL
	})
	acquire(t.Context(), t, knew, lasting("a", maxTTL))

	// An engine that was idle all the time does not close the spare again.
	eventually(t, "the idle engine has its lock", func() bool {
		_, err := idle.Take(t.Context(), lasting("b", maxTTL))
		if _, closed := errors.AsType[*redis.ClosedError](err); closed {
			t.Fatalf("the spare was closed again: %v", err)
		}
		return err == nil
	})
}

// replaceByServerInUse replaces a server, under its address, by one that was in use elsewhere. It returns an engine
// that knew the first server.
func replaceByServerInUse(t *testing.T, maxTTL time.Duration) (at *address, knew *redis.Engine) {
	t.Helper()
	first, spare := redisserver.ForTest(t, redisserver.Config{}), redisserver.ForTest(t, redisserver.Config{})
	trust(t, first)
	trust(t, spare)
	at = new(address)
	at.Store(first)
	knew = open(t, at.client, redis.WithMaxTTL(maxTTL))
	mustTake(t, knew, lasting("a", maxTTL))
	at.Store(spare)
	first.Kill()
	return at, knew
}

// A spare may have been in use elsewhere: its marker says that it is open. An engine that knew the old server does not
// believe that, and changes the marker for engines that come later.
func TestSpareServerThatWasInUse(t *testing.T) {
	t.Parallel()
	const maxTTL = time.Minute
	at, knew := replaceByServerInUse(t, maxTTL)
	other := lasting("b", maxTTL)
	eventually(t, "the engine finds the spare", func() bool {
		_, err := knew.Take(t.Context(), other)
		if err == nil {
			t.Fatal("a spare is trusted because it was in use elsewhere")
		}
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
	if mustBeClosed(t, open(t, at.client, redis.WithMaxTTL(maxTTL)), lasting("b", maxTTL)).Unseen {
		t.Error("the error says that the server has no record of earlier use")
	}
}

// A program that starts after the replacement believes the spare's marker. It grants nothing any more once an engine
// that knew the old server has closed the spare for everybody.
func TestSpareServerIsClosedForThoseWhoBelievedIt(t *testing.T) {
	t.Parallel()
	const maxTTL = time.Minute
	at, knew := replaceByServerInUse(t, maxTTL)
	believes := open(t, at.client, redis.WithMaxTTL(maxTTL))
	mustTake(t, believes, lasting("b", maxTTL))
	eventually(t, "the engine finds the spare", func() bool {
		_, err := knew.Take(t.Context(), lasting("c", maxTTL))
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
	eventually(t, "the spare is closed for everybody", func() bool {
		r := lasting(rand.Text(), maxTTL)
		_, err := believes.Take(t.Context(), r)
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
}

// An operator opens a server that has no record of earlier use. Waiters notice that.
func TestOpenNow(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, waiting, admin := open(t, standalone(s)), open(t, standalone(s), redis.WithPolling()), open(t, standalone(s))
	r := lasting("a", time.Minute)
	if !mustBeClosed(t, e, r).Unseen {
		t.Error("the error does not say that the server has no record of earlier use")
	}
	got := make(chan error, 1)
	go func() {
		_, err := takeDespiteErrors(t.Context(), waiting, lasting("b", time.Minute))
		got <- err
	}()
	if _, err := admin.OpenNow(t.Context(), " \n"); err == nil {
		t.Error("a server was opened without a name")
	}
	if opened, err := admin.OpenNow(t.Context(), "ann@host: new server"); err != nil || len(opened) != 1 {
		t.Fatalf("opened %q, %v; want one server", opened, err)
	}
	mustTake(t, admin, lasting("c", time.Minute))
	// it counts for longer leases, too
	mustTake(t, open(t, standalone(s), redis.WithMaxTTL(time.Hour)), lasting("d", time.Hour))
	eventually(t, "the engine that was refused has the lock",
		func() bool { _, err := e.Take(t.Context(), r); return err == nil })
	if err := <-got; err != nil {
		t.Error(err)
	}
	if text, err := s.Command("GET", "{lock:}:guard"); err != nil ||
		!strings.HasSuffix(fmt.Sprint(text), " ann@host: new server") {
		t.Errorf("the marker is %q, %v; want who has opened the server, and why", text, err)
	}
	restart(t, s)
	mustBeClosed(t, open(t, standalone(s)), lasting("a", time.Minute))
}
