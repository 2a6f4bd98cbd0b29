package redisson_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// A release whose answers are lost goes on in the background until it is answered, and counts once.
func TestReleaseIsRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(ctx context.Context, s *redisson.Semaphore) error{
		"Release": semaphoreCalls["Release"], "ReleaseIfExists": semaphoreCalls["ReleaseIfExists"],
	} {
		for _, action := range []redisserver.Action{redisserver.CutBefore, redisserver.CutAfter, redisserver.Hold} {
			t.Run(fmt.Sprint(name, action), func(t *testing.T) {
				t.Parallel()
				server := redisserver.ForTest(t, redisserver.Config{})
				proxy := redisserver.ProxyForTest(t, server.Addr())
				direct := open(t, standalone(server)).Semaphore("pool")
				must(t, direct.AddPermits(t.Context(), 1))
				e := open(t, proxied(proxy))
				s := e.Semaphore("pool")
				mustAcquire(t, s, 1, true) // and so connects
				proxy.Intercept(func([]byte) redisserver.Action { return action })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if action == redisserver.Hold {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				if err := release(ctx, s); err == nil || driver.HadNoEffect(err) {
					t.Errorf("a release without an answer: %v", err)
				}
				proxy.Intercept(nil)
				proxy.Release() // the first request arrives, too
				awaitAvailable(t, direct, 1)
				must(t, e.Close()) // which awaits the background
				wantAvailable(t, direct, 1)
			})
		}
	}
}

func awaitAvailable(t *testing.T, s *redisson.Semaphore, want int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, err := s.AvailablePermits(t.Context())
		must(t, err)
		if n == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d permits are available, want %d", n, want)
		}
	}
}

// The server remembers a call for longer than it is repeated, and forgets it when its only request was answered.
func TestServerRemembersCallsAsLongAsNeeded(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	proxy := redisserver.ProxyForTest(t, server.Addr())
	records := func() []any { return command(t, server, "KEYS", "leasehold_semaphore:*").([]any) }
	e := open(t, proxied(proxy))
	s := e.Semaphore("pool")
	for i := range 250 {
		other := e.Semaphore("pool" + strconv.Itoa(i%2))
		must(t, other.AddPermits(t.Context(), 1))
		mustAcquire(t, other, 1, true)
	}
	for end := time.Now().Add(10 * time.Second); len(records()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d records of answered requests are left", len(records()))
		}
	}
	must(t, s.AddPermits(t.Context(), 1))
	must(t, e.Close())
	if left := records(); len(left) > 0 {
		t.Errorf("Close leaves the records %q", left)
	}
	e = open(t, proxied(proxy))
	seen := nextScript(proxy, redisserver.CutAfter)
	must(t, e.Semaphore("pool").Release(t.Context(), 1)) // the second request is answered
	<-seen
	must(t, e.Close())
	left := records()
	if len(left) != 1 {
		t.Fatalf("there are the records %q, want that of a request that may yet be repeated", left)
	}
	if ms := command(t, server, "PTTL", left[0].(string)).(int64); ms < (50 * time.Minute).Milliseconds() {
		t.Errorf("a call is remembered for %d ms, although it is repeated for half an hour", ms)
	}
}
