package redis_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// stacks is a hook of a client that notes which goroutines send scripts.
type stacks struct {
	mu    sync.Mutex
	sent  int
	alien string // the stack of a goroutine that does not run the test
}

func (*stacks) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (s *stacks) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "evalsha" {
			memory := make([]byte, 1<<16)
			stack := string(memory[:runtime.Stack(memory, false)])
			s.mu.Lock()
			if s.sent++; !strings.Contains(stack, "lockAndRelease") {
				s.alien = stack
			}
			s.mu.Unlock()
		}
		return next(ctx, cmd)
	}
}

func (*stacks) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// Where the client observes deadlines, a call whose context can be cancelled needs no goroutine besides that of its
// caller: neither for a name that is free, nor for one that others want.
func TestCancellableCallsNeedNoGoroutine(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	seen := &stacks{}
	e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		c := noRetries(s.Addr())(t)
		c.(*goredis.Client).AddHook(seen)
		return c
	})
	mustTake(t, e, lasting("known", time.Minute))
	seen.mu.Lock()
	seen.sent, seen.alien = 0, ""
	seen.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lockAndRelease(ctx, t, e)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.sent != 6 || seen.alien != "" {
		t.Errorf("%d scripts were sent, want 6, and one by another goroutine:\n%s", seen.sent, seen.alien)
	}
}

func lockAndRelease(ctx context.Context, t *testing.T, e driver.Engine) {
	t.Helper()
	first, second := lasting("a", time.Minute), lasting("a", time.Minute)
	second.Join = true
	if _, err := e.Take(ctx, first); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Take(ctx, second); err == nil {
		t.Fatal("a lock that is held was granted")
	}
	for _, r := range []driver.Request{first, second} {
		if err := e.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}); err != nil {
			t.Error(err)
		}
	}
}
