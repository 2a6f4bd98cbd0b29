package redisson_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustAcquire(t *testing.T, s *redisson.Semaphore, n int, want bool) {
	t.Helper()
	got, err := s.TryAcquire(t.Context(), n)
	must(t, err)
	if got != want {
		t.Fatalf("TryAcquire of %d: %v, want %v", n, got, want)
	}
}

func wantAvailable(t *testing.T, s *redisson.Semaphore, want int) {
	t.Helper()
	if got, err := s.AvailablePermits(t.Context()); err != nil || got != want {
		t.Fatalf("%d permits are available, %v, want %d", got, err, want)
	}
}

func TestSemaphore(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	a := open(t, standalone(server)).Semaphore("pool")
	b := open(t, standalone(server)).Semaphore("pool")
	mustAcquire(t, a, 1, false)
	if ok, err := a.ReleaseIfExists(t.Context(), 1); ok || err != nil {
		t.Fatalf("ReleaseIfExists of none: %v, %v", ok, err)
	}
	for _, want := range []bool{true, false} {
		if ok, err := a.TrySetPermits(t.Context(), 3); ok != want || err != nil {
			t.Fatalf("TrySetPermits: %v, %v", ok, err)
		}
	}
	mustAcquire(t, a, 2, true)
	mustAcquire(t, b, 2, false)
	mustAcquire(t, b, 1, true)
	waited := make(chan error, 1)
	go func() { waited <- b.Acquire(t.Context(), 2) }()
	awaitSubscriber(t, server, "redisson_sc:{pool}")
	must(t, a.Release(t.Context(), 1))
	must(t, a.AddPermits(t.Context(), 1))
	select {
	case err := <-waited:
		must(t, err)
	case <-time.After(9 * time.Second): // it would poll after ten
		t.Fatal("the waiter was not told")
	}
	must(t, b.Release(t.Context(), 4))
	wantAvailable(t, a, 4)
	if n, err := a.DrainPermits(t.Context()); n != 4 || err != nil {
		t.Fatalf("DrainPermits: %d, %v", n, err)
	}
	wantAvailable(t, b, 0)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { waited <- b.Acquire(ctx, 1) }()
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire with a context that ended: %v", err)
	}
	for _, n := range []int{0, -1, 1 << 31} {
		if _, err := errors.AsType[*redisson.PermitError](a.Release(t.Context(), n)); !err {
			t.Errorf("%d permits are no error", n)
		}
	}
	if err := a.AddPermits(t.Context(), -1<<31); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("too many permits to take away: %v", err)
	}
}

// Permits that are taken away may leave less than none, and a semaphore may begin with none, as in Redisson.
func TestSemaphoreOfLessThanNone(t *testing.T) {
	t.Parallel()
	s := open(t, standalone(redisserver.ForTest(t, redisserver.Config{}))).Semaphore("pool")
	for _, want := range []bool{true, false} {
		if ok, err := s.TrySetPermits(t.Context(), 0); ok != want || err != nil {
			t.Fatalf("TrySetPermits: %v, %v, want %v", ok, err, want)
		}
	}
	must(t, s.AddPermits(t.Context(), -2))
	wantAvailable(t, s, -2)
	mustAcquire(t, s, 1, false)
	if n, err := s.DrainPermits(t.Context()); n != 0 || err != nil {
		t.Errorf("DrainPermits: %d, %v", n, err)
	}
	must(t, s.Release(t.Context(), 3))
	mustAcquire(t, s, 1, true)
}

// awaitSubscriber returns when somebody has subscribed to a channel.
func awaitSubscriber(t *testing.T, s *redisserver.Server, channel string) {
	t.Helper()
	for {
		answer, err := s.Command("PUBSUB", "NUMSUB", channel)
		must(t, err)
		if list, _ := answer.([]any); len(list) == 2 && list[1] != int64(0) {
			return
		}
		must(t, t.Context().Err())
	}
}

// Permits that were taken for an answer that got lost are given back. A request that arrives after that takes none.
func TestSemaphoreUndoesWhatItsCallerDoesNotKnow(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	direct := open(t, standalone(server)).Semaphore("pool")
	_, err := direct.TrySetPermits(t.Context(), 2)
	must(t, err)
	proxy := redisserver.ProxyForTest(t, server.Addr())
	s := open(t, func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{
			Addr: proxy.Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		}))
	}).Semaphore("pool")
	mustAcquire(t, s, 1, true) // and so connects, and the server knows the script
	for i, action := range []redisserver.Action{redisserver.CutAfter, redisserver.CutBefore, redisserver.Hold} {
		var first atomic.Bool
		proxy.Intercept(func(request []byte) redisserver.Action {
			if words := redisserver.Words(request); words[0] == "evalsha" && first.CompareAndSwap(false, true) {
				return action
			}
			return redisserver.Pass
		})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if ok, err := s.TryAcquire(ctx, 1); ok || err == nil || driver.HadNoEffect(err) {
			t.Errorf("TryAcquire without an answer: %v, %v", ok, err)
		}
		cancel()
		for countUndone(t, server) <= i {
			must(t, t.Context().Err())
		}
		proxy.Intercept(nil)
		proxy.Release()
		mustAcquire(t, s, 2, false) // on a connection that has no request before it
		wantAvailable(t, direct, 1)
	}
}

// countUndone returns how many requests the server remembers as undone.
func countUndone(t *testing.T, s *redisserver.Server) (n int) {
	t.Helper()
	keys, err := s.Command("KEYS", "leasehold_semaphore:*")
	must(t, err)
	for _, key := range keys.([]any) {
		value, err := s.Command("GET", key.(string))
		must(t, err)
		if value == "undone" {
			n++
		}
	}
	return n
}

// A client that repeats requests does not repeat these: a second answer would hide what the first one did.
func TestSemaphoreRequestsAreSentOnce(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	proxy := redisserver.ProxyForTest(t, server.Addr())
	s := open(t, func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: proxy.Addr(), MaxRetries: 5}))
	}).Semaphore("pool")
	wantAvailable(t, s, 0) // and so connects
	loseNext := func() {
		var first atomic.Bool
		proxy.Intercept(func(request []byte) redisserver.Action {
			words := redisserver.Words(request)
			if strings.HasPrefix(words[0], "eval") && first.CompareAndSwap(false, true) {
				return redisserver.CutAfter
			}
			return redisserver.Pass
		})
	}
	must(t, s.AddPermits(t.Context(), 1)) // and so the server knows both scripts
	_, err := s.DrainPermits(t.Context())
	must(t, err)
	must(t, s.AddPermits(t.Context(), 2))
	loseNext()
	if n, err := s.DrainPermits(t.Context()); err == nil {
		t.Errorf("DrainPermits without an answer: %d", n)
	}
	awaitAvailable(t, s, 2) // it is undone
	loseNext()
	must(t, s.Release(t.Context(), 1)) // it is repeated, and counts once
	proxy.Intercept(nil)
	wantAvailable(t, s, 3)
}

// A semaphore that was set for a time ends then, whatever was acquired and released meanwhile.
func TestSemaphoreForATime(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	s := open(t, standalone(server)).Semaphore("pool")
	for _, d := range []time.Duration{0, time.Microsecond, -time.Second} {
		_, err := s.TrySetPermitsFor(t.Context(), 3, d)
		if !errors.Is(err, driver.ErrInvalid) || !driver.HadNoEffect(err) {
			t.Errorf("for %v: %v, want an ErrInvalid without an effect", d, err)
		}
	}
	const long = time.Minute
	for _, want := range []bool{true, false} {
		if ok, err := s.TrySetPermitsFor(t.Context(), 3, long); ok != want || err != nil {
			t.Fatalf("TrySetPermitsFor: %v, %v, want %v", ok, err, want)
		}
	}
	mustAcquire(t, s, 2, true)
	must(t, s.Release(t.Context(), 1))
	wantAvailable(t, s, 2)
	if left := command(t, server, "PTTL", "pool").(int64); left <= 0 || left > long.Milliseconds() {
		t.Errorf("it is gone after %d ms, want %v at most", left, long)
	}
}
