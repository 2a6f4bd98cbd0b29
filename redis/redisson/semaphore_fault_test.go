package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// proxied makes a client that goes through a proxy and never retries. It does not observe contexts.
func proxied(p *redisserver.Proxy) newClient {
	return func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: p.Addr(), MaxRetries: -1, DialerRetries: 1}))
	}
}

// nextScript does something to the next script that the proxy sees. The channel is closed then.
func nextScript(p *redisserver.Proxy, action redisserver.Action) (seen <-chan struct{}) {
	done := make(chan struct{})
	var first atomic.Bool
	p.Intercept(func(request []byte) redisserver.Action {
		if words := redisserver.Words(request); words[0] == "evalsha" && first.CompareAndSwap(false, true) {
			close(done)
			return action
		}
		return redisserver.Pass
	})
	return done
}

// Close waits until permits are given back that were taken for an answer which got lost.
func TestCloseUndoesWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action   redisserver.Action
		inFlight bool // the caller has not returned when the engine is closed
	}{
		"ReplyLost": {redisserver.CutAfter, false}, "NoReply": {redisserver.Hold, false},
		"GivenUpMeanwhile": {redisserver.Hold, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.ForTest(t, redisserver.Config{})
			direct := open(t, standalone(server)).Semaphore("pool")
			_, err := direct.TrySetPermits(t.Context(), 2)
			must(t, err)
			proxy := redisserver.ProxyForTest(t, server.Addr())
			e := open(t, proxied(proxy))
			s := e.Semaphore("pool")
			mustAcquire(t, s, 1, true) // and so connects, and the server knows the script
			seen := nextScript(proxy, c.action)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			returned := make(chan error, 1)
			go func() { _, err := s.TryAcquire(ctx, 1); returned <- err }()
			<-seen
			if c.inFlight {
				time.AfterFunc(200*time.Millisecond, cancel)
			} else {
				cancel()
				if err := <-returned; err == nil {
					t.Error("TryAcquire without an answer worked")
				}
			}
			began := time.Now()
			must(t, e.Close())
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("Close took %v, want until the request is undone", took)
			}
			if n := countUndone(t, server); n != 1 {
				t.Errorf("%d requests are undone, want 1", n)
			}
			proxy.Intercept(nil)
			proxy.Release() // it arrives after all
			wantAvailable(t, direct, 1)
			if c.inFlight {
				if err := <-returned; !errors.Is(err, context.Canceled) {
					t.Errorf("TryAcquire: %v, want the error of its context", err)
				}
			}
		})
	}
}

// If the server does not answer, Close gives up after a second.
func TestCloseDoesNotWaitForASilentServer(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	e := open(t, standalone(server))
	s := e.Semaphore("pool")
	returned := make(chan error, 2)
	go func() { returned <- s.Acquire(t.Context(), 1) }()
	awaitSubscriber(t, server, "redisson_sc:{pool}")
	stallable{all: []*redisserver.Server{server}}.stall(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	go func() { _, err := s.TryAcquire(ctx, 1); returned <- err }()
	<-ctx.Done()
	began := time.Now()
	must(t, e.Close())
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
	for range 2 {
		if <-returned == nil {
			t.Error("a request worked although the server is silent")
		}
	}
}

// A program that waits for permits waits on while the server cannot be reached, and takes them once.
func TestAcquireWaitsForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	proxy := redisserver.ProxyForTest(t, server.Addr())
	direct := open(t, standalone(server)).Semaphore("pool")
	s := open(t, proxied(proxy)).Semaphore("pool")
	for name, away := range map[string]func(){
		"Cut":         proxy.Cut,
		"Refused":     func() { proxy.Refuse(); time.AfterFunc(500*time.Millisecond, func() { _ = proxy.Allow() }) },
		"ReplyLost":   func() { <-nextScript(proxy, redisserver.CutAfter) },
		"RequestLost": func() { <-nextScript(proxy, redisserver.CutBefore) },
		"Restart":     func() { server.Kill(); must(t, server.Restart()) },
	} {
		waited := make(chan error, 1)
		go func() { waited <- s.Acquire(t.Context(), 2) }()
		awaitSubscriber(t, server, "redisson_sc:{pool}")
		if name == "ReplyLost" || name == "RequestLost" {
			time.AfterFunc(50*time.Millisecond, func() { must(t, direct.AddPermits(t.Context(), 2)) })
			away()
		} else {
			away()
			must(t, direct.AddPermits(t.Context(), 2))
		}
		select {
		case err := <-waited:
			if err != nil {
				t.Errorf("%s: Acquire: %v", name, err)
			}
		case <-time.After(5 * time.Second): // before the next poll
			t.Fatalf("%s: Acquire sleeps although there are permits", name)
		}
		wantAvailable(t, direct, 0)
	}
}

// What comes back however often one asks ends Acquire.
func TestAcquireEndsWithAPermanentError(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	_, err := server.Command("RPUSH", "pool", "a")
	must(t, err)
	e := open(t, standalone(server))
	if err := e.Semaphore("pool").Acquire(t.Context(), 1); err == nil {
		t.Error("Acquire of a list worked")
	}
	waited := make(chan error, 1)
	go func() { waited <- e.Semaphore("other").Acquire(t.Context(), 1) }()
	awaitSubscriber(t, server, "redisson_sc:{other}")
	must(t, e.Close())
	if err := <-waited; err == nil {
		t.Error("Acquire outlived its engine")
	}
}

// The error of a wait that was given up says what the server has said last.
func TestAcquireTellsWhyItWaited(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t, redisserver.Config{})
	proxy := redisserver.ProxyForTest(t, server.Addr())
	s := open(t, proxied(proxy)).Semaphore("pool")
	proxy.Refuse()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := s.Acquire(ctx, 1)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire: %v, want the error of its context", err)
	}
	if _, lost := errors.AsType[*net.OpError](err); !lost {
		t.Errorf("Acquire: %v, want that no server can be reached", err)
	}
}

// At whatever request a connection is cut, before it arrives or before its answer, or a caller gives up: who was given
// no permit has taken none, and who was given one has taken one. Closing the engine suffices.
func TestFaultsTakeNoPermits(t *testing.T) {
	t.Parallel()
	for method, n := range map[string]int{"TryAcquire": 1, "Acquire": 1, "DrainPermits": 2} {
		for _, action := range []redisserver.Action{redisserver.CutBefore, redisserver.CutAfter, redisserver.Hold} {
			t.Run(fmt.Sprint(method, action), func(t *testing.T) {
				t.Parallel()
				server := redisserver.ForTest(t, redisserver.Config{})
				proxy := redisserver.ProxyForTest(t, server.Addr())
				direct := open(t, standalone(server)).Semaphore("pool")
				must(t, direct.AddPermits(t.Context(), 2))
				for at := int64(1); ; at++ {
					rdb := goredis.NewClient(&goredis.Options{Addr: proxy.Addr(), MaxRetries: -1, DialerRetries: 1})
					e := open(t, func(*testing.T) goredis.UniversalClient { return rdb })
					ctx, cancel := context.WithCancel(t.Context())
					var count atomic.Int64
					proxy.Intercept(func([]byte) redisserver.Action {
						switch {
						case count.Add(1) != at:
							return redisserver.Pass
						case action == redisserver.Hold:
							cancel()
						}
						return action
					})
					err := semaphoreCalls[method](ctx, e.Semaphore("pool"))
					proxy.Intercept(nil)
					proxy.Release()
					must(t, errors.Join(e.Close(), rdb.Close()))
					if err == nil {
						must(t, direct.Release(t.Context(), n))
					}
					if n, err2 := direct.AvailablePermits(t.Context()); n != 2 || err2 != nil {
						t.Fatalf("%d permits are there after a fault at request %d, want 2: %v, %v", n, at, err, err2)
					}
					cancel()
					if count.Load() < at {
						if at < 3 {
							t.Error("there were too few requests")
						}
						return
					}
				}
			})
		}
	}
}
