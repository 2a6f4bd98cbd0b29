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

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// soon is the longest that may pass, on a busy machine, until something that happens at once. It is less than the first
// lease of a head that does not answer (2 s), and than the time after which waiters behind a long lease poll (10 s).
const soon = 1900 * time.Millisecond

// unguarded opens an engine without the failover guard, for a test that starts its own server and wants its locks at
// once.
func unguarded(t *testing.T, client newClient, opts ...redis.Option) *redis.Engine {
	t.Helper()
	return open(t, client, append(opts, redis.WithoutFailoverGuard())...)
}

// noRetries makes a client that does not retry, and respects the deadlines of contexts.
func noRetries(addr string) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1,
			ContextTimeoutEnabled: true}))
	}
}

// command sends a command to a server. It must succeed.
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

// keysWith returns the keys of a server for which a condition in Lua holds. The condition may use key and ttl (ms, -1
// without an end).
func keysWith(t *testing.T, s *redisserver.Server, condition string) (keys []string) {
	t.Helper()
	reply := command(t, s, "EVAL", `local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local ttl = redis.call('PTTL', key)
  if `+condition+` then table.insert(found, key) end
end
return found`, "0")
	for _, key := range reply.([]any) {
		// markers stay
		if _, part, _ := strings.Cut(key.(string), "}"); part != ":guard" && part != "lock::guard" &&
			part != "lock::guard-master" {
			keys = append(keys, key.(string))
		}
	}
	return keys
}

// endlessKeys returns the keys that have no end.
func endlessKeys(t *testing.T, s *redisserver.Server) []string { return keysWith(t, s, "ttl == -1") }

// checkNothingLeft fails the test if there are keys other than those of last tokens, which end.
func checkNothingLeft(t *testing.T, s *redisserver.Server) {
	t.Helper()
	if keys := leftoverKeys(t, s); len(keys) > 0 {
		t.Errorf("this is left behind: %q", keys)
	}
}

// leftoverKeys are the keys that may not be left behind: all but those of tokens that end.
func leftoverKeys(t *testing.T, s *redisserver.Server) []string {
	t.Helper()
	return keysWith(t, s, "ttl == -1 or not string.find(key, ':token$')")
}

// mustJoin queues a request, which must not be granted yet.
func mustJoin(t *testing.T, e *redis.Engine, r driver.Request) driver.Request {
	t.Helper()
	r.Join = true
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatalf("Take of %q by a second owner: %v, want ErrHeld", r.Name, err)
	}
	return r
}

// mustTake takes what must be free.
func mustTake(t *testing.T, e *redis.Engine, r driver.Request) driver.Grant {
	t.Helper()
	g, err := e.Take(t.Context(), r)
	if err != nil {
		t.Fatalf("Take of %q: %v", r.Name, err)
	}
	return g
}

// renewOne renews one lease.
func renewOne(ctx context.Context, e *redis.Engine, h driver.Hold, ttl time.Duration) error {
	err := errors.New("not reported")
	e.Renew(ctx, []driver.Renewal{{Hold: h, TTL: ttl}}, func(_ int, outcome error) { err = outcome })
	return err
}

// takeDespiteErrors takes, or waits for its turn, and repeats requests of unknown outcome, as the core does for a
// caller that already waits.
func takeDespiteErrors(ctx context.Context, e *redis.Engine, r driver.Request) (driver.Grant, error) {
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

// grant is what a waiter was granted, and when.
type grant struct {
	driver.Grant
	err error
	at  time.Time
}

// startWait waits in the background with a request that has joined the queue.
func startWait(t *testing.T, e *redis.Engine, r driver.Request) <-chan grant {
	got := make(chan grant, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	go func() {
		g, err := e.Wait(ctx, r)
		got <- grant{g, err, time.Now()}
	}()
	return got
}

// granted returns what a waiter was granted. An error fails the test.
func granted(t *testing.T, got <-chan grant) grant {
	t.Helper()
	g := <-got
	if g.err != nil {
		t.Fatalf("Wait: %v", g.err)
	}
	return g
}

// exclusionCheck detects two holders at a time.
type exclusionCheck struct{ sync.Mutex }

// takeTurn waits for the lock "a", checks that nobody else holds it, and releases it.
func (c *exclusionCheck) takeTurn(ctx context.Context, e *redis.Engine) error {
	r := lasting("a", time.Minute)
	if _, err := takeDespiteErrors(ctx, e, r); err != nil {
		return err
	}
	if !c.TryLock() {
		return errors.New("two hold the lock together")
	}
	c.Unlock()
	if err := e.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// status returns the status of a name.
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

// awaitSubscriptions waits until this number of processes are subscribed on a server.
func awaitSubscriptions(t *testing.T, s *redisserver.Server, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d processes are subscribed", n), func() bool {
		return len(command(t, s, "PUBSUB", "CHANNELS").([]any)) == n
	})
}
