package redis_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// fullServer starts a server that has as many clients as it allows.
func fullServer(t *testing.T) *redisserver.Server {
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"maxclients 1"}})
	eventually(t, "the connection is the only one", func() bool {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, 5)
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Write([]byte("PING\r\n")); err == nil {
			_, err = conn.Read(reply)
			if err == nil && string(reply) == "+PONG" {
				t.Cleanup(func() { _ = conn.Close() })
				return true
			}
		}
		_ = conn.Close()
		return false
	})
	return s
}

// If a server refuses subscriptions, for whatever reason, waiters poll. They subscribe as soon as the server accepts
// it.
func TestRefusedSubscription(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses func(t *testing.T) *redisserver.Server
		word    string // in the error
		forLong bool   // the engine does not try again soon
	}{
		"Full": {fullServer, "", false}, // the client may see no more than that its connection is closed
		"NoPassword": {func(t *testing.T) *redisserver.Server {
			return redisserver.ForTest(t, redisserver.Config{Password: "other"})
		}, "NOAUTH", false},
		"NotKnown": {func(t *testing.T) *redisserver.Server {
			return redisserver.ForTest(t, redisserver.Config{Lines: []string{`rename-command SUBSCRIBE ""`}})
		}, "unknown command", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			var at address
			at.Store(c.refuses(t))
			subscriber := at.client(t).(*goredis.Client)
			channel := subscriber.Subscribe(t.Context(), "channel")
			if _, err := channel.Receive(t.Context()); err == nil || !strings.Contains(err.Error(), c.word) {
				t.Fatalf("Subscribe: %v, want %s: the test shows nothing", err, c.word)
			}
			_ = channel.Close()
			e, beside := unguarded(t, func(t *testing.T) goredis.UniversalClient {
				return splitClient{standalone(s)(t).(*goredis.Client), subscriber}
			}), unguarded(t, standalone(s))

			before := lasting("a", time.Minute)
			mustTake(t, beside, before)
			for range 3 {
				r := mustJoin(t, e, lasting("a", time.Minute))
				got := startWait(t, e, r)
				began := time.Now()
				release(t, beside, before)
				if took := granted(t, got).at.Sub(began); took > soon {
					t.Errorf("the waiter had the lock after %v, want its next poll", took)
				}
				release(t, e, r)
				mustTake(t, beside, before)
			}
			generation := latched(t, beside)
			latch := make(chan error, 1)
			go func() { latch <- e.WaitLatch(t.Context(), "l", generation) }()
			down := driver.LatchDown{Name: "l", ID: "2", TTL: time.Second}
			if _, err := beside.CountDown(t.Context(), down); err != nil {
				t.Fatal(err)
			}
			if err := <-latch; err != nil {
				t.Errorf("WaitLatch: %v", err)
			}

			if !c.forLong {
				r := mustJoin(t, e, lasting("a", time.Minute))
				got := startWait(t, e, r)
				at.Store(s)
				awaitSubscriptions(t, s, 1)
				release(t, beside, before)
				granted(t, got)
				release(t, e, r)
			}
		})
	}
}

// latched sets the latch "l" to one, and returns its generation.
func latched(t *testing.T, e *redis.Engine) uint64 {
	t.Helper()
	if _, err := e.TrySet(t.Context(), driver.LatchSet{Name: "l", ID: "1", Count: 1, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	st, err := e.LatchState(t.Context(), "l")
	if err != nil {
		t.Fatal(err)
	}
	return st.Generation
}

// A wait whose subscription is refused ends with its context and with the engine, and with nothing else.
func TestRefusedSubscriptionAndTheEnd(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	full := noRetries(fullServer(t).Addr())
	e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		return splitClient{standalone(s)(t).(*goredis.Client), full(t).(*goredis.Client)}
	})
	mustTake(t, e, lasting("a", time.Minute))
	r := mustJoin(t, e, lasting("a", time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Wait(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait: %v, want the end of its context", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Wait(t.Context(), r); !driver.IsPermanent(err) {
		t.Errorf("Wait after Close: %v, want a permanent error", err)
	}
}
