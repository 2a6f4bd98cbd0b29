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

// hasRunFor waits until a server says that it has run for longer than that.
func hasRunFor(t *testing.T, s *redisserver.Server, d time.Duration) {
	t.Helper()
	eventually(t, "the server has run for long", func() bool {
		text, err := s.Info("uptime_in_seconds")
		seconds, wrong := strconv.Atoi(text)
		return err == nil && wrong == nil && time.Duration(seconds)*time.Second > d
	})
}

// refusedAsClosed returns the error of a take of what the server does not know to be held: it must be that grants are closed.
func refusedAsClosed(t *testing.T, e *redis.Engine, r driver.Request) *redis.ClosedError {
	t.Helper()
	_, err := e.Take(t.Context(), r)
	closed, ok := errors.AsType[*redis.ClosedError](err)
	if !ok || !driver.HadNoEffect(err) || driver.IsPermanent(err) {
		t.Fatalf("Take of %q: %v, want a ClosedError without effect", r.Name, err)
	}
	return closed
}

// A server is replaced, under its address, by a spare that has run for long and knows of no lease. Neither a program that starts afterwards nor one that
// knew the server is granted what is held. That the spare has run for long says nothing.
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
		takes(t, e, r)
		release(t, e, r)
	}
	hasRunFor(t, spare, maxTTL+time.Second)

	held := lasting("a", maxTTL)
	takes(t, holder, held)
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
			t.Errorf("who comes when a server was replaced: %v, want that nobody has seen the spare in use for %v", err, maxTTL)
		}
	}
	eventually(t, "one who knew the server before meets the spare", func() bool {
		_, err := knew.Take(t.Context(), lasting("a", maxTTL))
		if err == nil && time.Since(replaced) < maxTTL {
			t.Fatal("two hold one lock at the same time")
		}
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed || time.Since(replaced) > maxTTL
	})
	acquire(t.Context(), t, knew, lasting("a", maxTTL))

	// Who has slept all the while closes nothing again.
	eventually(t, "one who knew the server long ago has his lock", func() bool {
		_, err := idle.Take(t.Context(), lasting("b", maxTTL))
		if _, closed := errors.AsType[*redis.ClosedError](err); closed {
			t.Fatalf("the spare was closed again: %v", err)
		}
		return err == nil
	})
}

// replacedByAServerInUse replaces a server, under its address, by one that was in use elsewhere. It returns an engine that knew the first one.
func replacedByAServerInUse(t *testing.T, maxTTL time.Duration) (at *address, knew *redis.Engine) {
	t.Helper()
	first, spare := redisserver.ForTest(t, redisserver.Config{}), redisserver.ForTest(t, redisserver.Config{})
	trust(t, first)
	trust(t, spare)
	at = new(address)
	at.Store(first)
	knew = open(t, at.client, redis.WithMaxTTL(maxTTL))
	takes(t, knew, lasting("a", maxTTL))
	at.Store(spare)
	first.Kill()
	return at, knew
}

// A spare may have been in use elsewhere: it has a marker that says that it is open. Who knew the server before does not believe it, and says so in the
// marker, to those who come later.
func TestSpareServerThatWasInUse(t *testing.T) {
	t.Parallel()
	const maxTTL = time.Minute
	at, knew := replacedByAServerInUse(t, maxTTL)
	other := lasting("b", maxTTL)
	eventually(t, "the spare is met", func() bool {
		_, err := knew.Take(t.Context(), other)
		if err == nil {
			t.Fatal("a spare is believed because it was in use elsewhere")
		}
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
	if refusedAsClosed(t, open(t, at.client, redis.WithMaxTTL(maxTTL)), lasting("b", maxTTL)).Unseen {
		t.Error("it is said that nobody has seen it in use")
	}
}

// A program that starts after the spare has been put in place believes its marker. It grants nothing any more either, once somebody who knows better has
// closed the spare for everybody.
func TestSpareServerIsClosedForThoseWhoBelievedIt(t *testing.T) {
	t.Parallel()
	const maxTTL = time.Minute
	at, knew := replacedByAServerInUse(t, maxTTL)
	believes := open(t, at.client, redis.WithMaxTTL(maxTTL))
	takes(t, believes, lasting("b", maxTTL))
	eventually(t, "the spare is met", func() bool {
		_, err := knew.Take(t.Context(), lasting("c", maxTTL))
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
	eventually(t, "it is closed for everybody", func() bool {
		r := lasting(rand.Text(), maxTTL)
		_, err := believes.Take(t.Context(), r)
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
}

// A server that nobody has seen in use is opened by a word. Those who wait hear of it.
func TestOpenNow(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, waits, comes := open(t, standalone(s)), open(t, standalone(s), redis.WithPolling()), open(t, standalone(s))
	r := lasting("a", time.Minute)
	if !refusedAsClosed(t, e, r).Unseen {
		t.Error("it is not said that nobody has seen it in use")
	}
	got := make(chan error, 1)
	go func() {
		_, err := persists(t.Context(), waits, lasting("b", time.Minute))
		got <- err
	}()
	if _, err := comes.OpenNow(t.Context(), " \n"); err == nil {
		t.Error("a server is opened by nobody")
	}
	if opened, err := comes.OpenNow(t.Context(), "ann@host: new server"); err != nil || len(opened) != 1 {
		t.Fatalf("opened are %q, %v; want one server", opened, err)
	}
	takes(t, comes, lasting("c", time.Minute))
	takes(t, open(t, standalone(s), redis.WithMaxTTL(time.Hour)), lasting("d", time.Hour)) // who has longer leases relies on it, too
	eventually(t, "one who was refused has the lock", func() bool { _, err := e.Take(t.Context(), r); return err == nil })
	if err := <-got; err != nil {
		t.Error(err)
	}
	if text, err := s.Command("GET", "{lock:}:guard"); err != nil || !strings.HasSuffix(fmt.Sprint(text), " ann@host: new server") {
		t.Errorf("the marker is %q, %v; want who has opened the server, and why", text, err)
	}
	restart(t, s)
	refusedAsClosed(t, open(t, standalone(s)), lasting("a", time.Minute))
}
