package redis_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// withOptions makes a client of one server.
func withOptions(o goredis.Options) newClient {
	return func(t *testing.T) goredis.UniversalClient { return closed(t, goredis.NewClient(&o)) }
}

// isUnknown reports whether an error leaves the outcome open: it is neither a refusal, nor does it say that nothing has
// happened.
func isUnknown(err error) bool { return err != nil && !driver.IsNo(err) && !driver.HadNoEffect(err) }

// releaseAll releases again and again what had an unknown outcome, as the core does.
func releaseAll(t *testing.T, e *redis.Engine, requests []driver.Request) {
	t.Helper()
	for range 3 {
		for _, r := range requests {
			if err := e.Release(context.Background(), driver.Release{Hold: hold(r)}); err != nil && !driver.IsNo(err) {
				t.Errorf("Release: %v", err)
			}
		}
	}
}

// If the reply to a batch is lost, all its outcomes are unknown, and later releases leave nothing behind.
func TestLostReplyToABatch(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Plain", "AutoPipeline"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			p := redisserver.ProxyForTest(t, s.Addr())
			client := withOptions(goredis.Options{Addr: p.Addr()}) // a client that would send again
			if kind == "AutoPipeline" {
				client = pipelined(client)
			}
			e, c := openCounted(t, client, redis.WithoutFailoverGuard())
			beside := unguarded(t, standalone(s))
			var requests []driver.Request
			for i := range 10 {
				requests = append(requests, lasting(fmt.Sprint(i), time.Minute))
			}
			held := requests[5:]
			for _, r := range held {
				mustTake(t, beside, r)
			}
			var results []<-chan result
			c.sendAsOneBatch(t, func() {
				for i, r := range requests {
					if i < 5 {
						results = append(results, startTake(e, r))
					} else {
						results = append(results, startRelease(e, r))
					}
				}
				p.Intercept(func(request []byte) redisserver.Action {
					if words := redisserver.Words(request); len(words) > 3 && words[2] == "15" {
						return redisserver.CutAfter
					}
					return redisserver.Pass
				})
			})
			for i, got := range results {
				if r := <-got; !isUnknown(r.err) {
					t.Errorf("request %d: token %d, %v, want an unknown outcome", i, r.Token, r.err)
				}
			}
			for i, r := range requests {
				if is := renewOne(t.Context(), beside, hold(r), time.Minute) == nil; is != (i < 5) {
					t.Errorf("after request %d, which has no reply, the owner holds the lock: %v", i, is)
				}
			}
			p.Intercept(nil)
			releaseAll(t, e, requests)
			checkNothingLeft(t, s)
		})
	}
}

// A frozen server delays no caller beyond its deadline, whatever the client does, and gets a limited number of
// requests. Those that take effect when it goes on are released then.
func TestRequestsToAFrozenServer(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(addr string) newClient{
		"without timeouts": func(addr string) newClient {
			return withOptions(goredis.Options{Addr: addr, ReadTimeout: -1, WriteTimeout: -1})
		},
		"by default":     func(addr string) newClient { return withOptions(goredis.Options{Addr: addr}) },
		"with deadlines": noRetries,
		"AutoPipeline":   func(addr string) newClient { return pipelined(withOptions(goredis.Options{Addr: addr})) },
		"AutoPipeline without timeouts": func(addr string) newClient {
			return pipelined(withOptions(goredis.Options{Addr: addr, ReadTimeout: -1, WriteTimeout: -1}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			e := unguarded(t, client(s.Addr()))
			known := lasting("known", time.Minute)
			mustTake(t, e, known)
			release(t, e, known)
			if err := s.Pause(); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var requests []driver.Request
			var longest atomic.Int64
			var callers sync.WaitGroup
			for i := range 32 {
				callers.Go(func() {
					for j := range 10 {
						r := lasting(fmt.Sprint(i, " ", j), time.Minute)
						mu.Lock()
						requests = append(requests, r)
						mu.Unlock()
						ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
						began, outcome := time.Now(), make(chan error, 2)
						from := quorumnode.Request{Request: r}
						e.StartTake(ctx, from, func(_ driver.Grant, err error) { outcome <- err })
						err := <-outcome
						cancel()
						longest.Store(max(longest.Load(), int64(time.Since(began))))
						if err == nil || driver.IsNo(err) {
							t.Errorf("StartTake: %v", err)
						}
					}
				})
			}
			callers.Wait()
			if took := time.Duration(longest.Load()); took > 100*time.Millisecond+soon {
				t.Errorf("a request took %v", took)
			}
			if err := s.Resume(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "all senders have returned", func() bool {
				_, _, overdue := e.BatcherLoad()
				return overdue == 0
			})
			releaseAll(t, e, requests)
			checkNothingLeft(t, s)
			if got := <-startTake(e, known); got.err != nil {
				t.Errorf("when the server goes on: %v", got.err)
			}
			release(t, e, known)
		})
	}
}
