package redis_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// patient makes a client that waits for ever and never retries.
func patient(addr string) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, ReadTimeout: -1,
			WriteTimeout: -1}))
	}
}

// holdFirstWith lets the first connection that sends a command hang from then on. Call p.Release before the client is
// closed.
func holdFirstWith(t *testing.T, p *redisserver.Proxy, command string) {
	t.Helper()
	var once sync.Once
	p.Intercept(func(request []byte) redisserver.Action {
		action := redisserver.Pass
		if words := redisserver.Words(request); len(words) > 0 && words[0] == command {
			once.Do(func() { action = redisserver.Hold })
		}
		return action
	})
	t.Cleanup(p.Release)
}

// A dead connection holds up one request only, even if it is the one on which the engine identifies the server and the
// client would wait for ever.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	p := redisserver.ProxyForTest(t, s.Addr())
	e := open(t, patient(p.Addr()))
	holdFirstWith(t, p, "info")
	for range 2 { // the second time it knows the server
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		began := time.Now()
		r := lasting("a", time.Minute)
		if _, err := e.Take(ctx, r); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("Take took %v, want the second after which the engine asks on another connection", took)
		}
		if err := renewOne(ctx, e, hold(r), time.Minute); err != nil {
			t.Error(err)
		}
		release(t, e, r)
		<-time.After(time.Second) // then it identifies the server again
		holdFirstWith(t, p, "info")
	}
	checkNothingLeft(t, s)
}

// A waiter may poll on a dead connection. The wait ends soon with an unknown outcome, and the core asks again: the
// waiter keeps its place.
func TestDeadConnectionOfAPoll(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := redisserver.ProxyForTest(t, s.Addr())
	e, beside := unguarded(t, patient(p.Addr())), unguarded(t, standalone(s))
	holder := lasting("a", time.Minute)
	mustTake(t, beside, holder)
	r := mustJoin(t, e, lasting("a", 2*time.Second))
	behind := mustJoin(t, beside, lasting("a", time.Minute))
	holdFirstWith(t, p, "evalsha")
	got := startWait(t, e, r)
	command(t, s, "CLIENT", "KILL", "TYPE", "pubsub") // so that it polls
	if g := <-got; g.err == nil || driver.HadNoEffect(g.err) {
		t.Fatalf("Wait on a dead connection: %v, want an unknown outcome", g.err)
	}
	mustJoin(t, e, r)
	got = startWait(t, e, r)
	next := startWait(t, beside, behind)
	release(t, beside, holder)
	granted(t, got)
	release(t, e, r)
	granted(t, next)
	release(t, beside, behind)
	p.Release()
	if err := e.Release(t.Context(), driver.Release{Hold: hold(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.Error(err)
	}
}
