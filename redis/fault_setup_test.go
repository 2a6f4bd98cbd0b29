package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// soon is how long it may take at most what happens at once, on a busy machine. It is less than the lease of a head that is not there (2 s), and than the
// time after which those look for themselves who wait for a long lease (10 s).
const soon = 1900 * time.Millisecond

// unguarded opens an engine for a test that starts its own server, and wants its locks at once.
func unguarded(t *testing.T, client newClient, opts ...redis.Option) *redis.Engine {
	t.Helper()
	return open(t, client, append(opts, redis.WithoutFailoverGuard())...)
}

// bare makes a client that does not retry, and heeds the deadlines of contexts.
func bare(addr string) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true}))
	}
}

// command sends a command to a server, which must do it.
func command(t *testing.T, s *redisserver.Server, words ...string) any {
	t.Helper()
	reply, err := s.Command(words...)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// eventually waits for something that another process or goroutine does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// keysWith returns the keys of a server for which a condition in Lua holds, with key and ttl (ms, -1 without an end).
func keysWith(t *testing.T, s *redisserver.Server, condition string) (keys []string) {
	t.Helper()
	reply := command(t, s, "EVAL", `local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local ttl = redis.call('PTTL', key)
  if `+condition+` then table.insert(found, key) end
end
return found`, "0")
	for _, key := range reply.([]any) {
		if _, part, _ := strings.Cut(key.(string), "}"); part != ":guard" && part != "lock::guard" && part != "lock::guard-master" { // the guard's stay
			keys = append(keys, key.(string))
		}
	}
	return keys
}

// endless returns the keys that have no end.
func endless(t *testing.T, s *redisserver.Server) []string { return keysWith(t, s, "ttl == -1") }

// checkNothingLeft fails the test if there are other keys than those of the last tokens, which end.
func checkNothingLeft(t *testing.T, s *redisserver.Server) {
	t.Helper()
	if keys := remains(t, s); len(keys) > 0 {
		t.Errorf("this is left behind: %q", keys)
	}
}

// remains are the keys that may not be left behind: all but tokens that end.
func remains(t *testing.T, s *redisserver.Server) []string {
	t.Helper()
	return keysWith(t, s, "ttl == -1 or not string.find(key, ':token$')")
}

// joins queues a request, which must not be granted yet.
func joins(t *testing.T, e *redis.Engine, r driver.Request) driver.Request {
	t.Helper()
	r.Join = true
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of %q by a second owner: %v, want ErrHeld", r.Name, err)
	}
	return r
}

// takes takes what must be free.
func takes(t *testing.T, e *redis.Engine, r driver.Request) driver.Grant {
	t.Helper()
	g, err := e.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take of %q: %v", r.Name, err)
	}
	return g
}

// renews renews one lease.
func renews(ctx context.Context, e *redis.Engine, h driver.Hold, ttl time.Duration) error {
	err := errors.New("not reported")
	e.Renew(ctx, []driver.Renewal{{Hold: h, TTL: ttl}}, func(_ int, outcome error) { err = outcome })
	return err
}

// persists takes, and waits for its turn, over errors that are no answer, as the core does for a caller who already waits.
func persists(ctx context.Context, e *redis.Engine, r driver.Request) (driver.Grant, error) {
	r.Join = true
	for {
		sent := driver.Now()
		g, err := e.Take(ctx, r)
		if errors.Is(err, driver.ErrHeld) {
			g, err = e.Wait(ctx, r)
		}
		if err == nil && g.Start.IsZero() {
			g.Start = sent
		}
		if err == nil || ctx.Err() != nil || driver.IsPermanent(err) {
			return g, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// grant is what a waiter got, and when.
type grant struct {
	driver.Grant
	err error
	at  time.Time
}

// waits waits in the background for what has been joined.
func waits(t *testing.T, e *redis.Engine, r driver.Request) <-chan grant {
	got := make(chan grant, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	go func() {
		g, err := e.Wait(ctx, r)
		got <- grant{g, err, time.Now()}
	}()
	return got
}

// granted returns what a waiter got, which must be a grant.
func granted(t *testing.T, got <-chan grant) grant {
	t.Helper()
	g := <-got
	if g.err != nil {
		t.Fatalf("Wait: %v", g.err)
	}
	return g
}

// room has place for one.
type room struct{ sync.Mutex }

// turn waits for the lock "a", is inside, and releases it.
func (inside *room) turn(ctx context.Context, e *redis.Engine) error {
	r := lasting("a", time.Minute)
	if _, err := persists(ctx, e, r); err != nil {
		return err
	}
	if !inside.TryLock() {
		return errors.New("two hold the lock together")
	}
	inside.Unlock()
	if err := e.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// status returns what is known of a name.
func status(t *testing.T, e *redis.Engine, k driver.Key) driver.Status {
	t.Helper()
	found, err := e.List(t.Context(), driver.Query{Kind: k.Kind, Name: k.Name, Queue: true})
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	if len(found) == 0 {
		return driver.Status{Key: k}
	}
	return found[0]
}

// awaitEars waits until so many processes listen on a server.
func awaitEars(t *testing.T, s *redisserver.Server, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d processes listen", n), func() bool {
		return len(command(t, s, "PUBSUB", "CHANNELS").([]any)) == n
	})
}
