package redisson_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

var lockTypes = map[string]redisson.LockType{
	"Fenced": redisson.Fenced, "Plain": redisson.Plain, "Spin": redisson.Spin, "ReadWrite": redisson.ReadWrite,
	"Fair": redisson.Fair,
}

// Requests and replies are lost, scripts are forgotten, and callers give up, all at random. Nobody holds together with
// a writer meanwhile, and nothing is left behind afterwards: no lock, no place in a queue.
func TestFaultsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	for name, lock := range lockTypes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			p, err := redisserver.NewProxy(w.server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			p.Intercept(func(request []byte) redisserver.Action {
				if !bytes.Contains(bytes.ToLower(request), []byte("evalsha")) || rand.N(20) > 0 {
					return redisserver.Pass
				}
				return []redisserver.Action{redisserver.CutBefore, redisserver.CutAfter}[rand.N(2)]
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var work sync.WaitGroup
			var holds, readers, writers atomic.Int64
			for range 4 {
				client := leasehold.New(open(t, func(t *testing.T) goredis.UniversalClient {
					return closed(t, goredis.NewClient(&goredis.Options{
						Addr: p.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1,
					}))
				}, redisson.WithLock(lock)), leasehold.WithRequestTimeout(time.Second))
				ttl := leasehold.TTL(5 * time.Second)
				take := []func(context.Context) (*leasehold.Lease, error){client.Mutex("order", ttl).Lock}
				if lock == redisson.ReadWrite {
					take = append(take, client.RWMutex("order", ttl).RLock)
				}
				t.Cleanup(func() { _ = client.Close() })
				for range 2 {
					work.Go(func() {
						const usually = 300 * time.Millisecond
						patience := usually
						for ctx.Err() == nil {
							kind := rand.N(len(take))
							limited, stop := context.WithTimeout(ctx, 1+rand.N(patience))
							lease, err := take[kind](limited)
							stop()
							if err != nil {
								patience += patience / 8 // a busy machine needs more
								continue
							}
							patience = usually
							holds.Add(1)
							count := []*atomic.Int64{&writers, &readers}[kind]
							count.Add(1)
							n, others := writers.Load(), readers.Load()
							if lease.Err() == nil && (n > 1 || n == 1 && others > 0) {
								t.Errorf("%d writers and %d readers at once", n, others)
							}
							time.Sleep(rand.N(3 * time.Millisecond))
							count.Add(-1)
							_ = lease.Release()
						}
					})
				}
			}
			enough := func(d time.Duration) bool {
				return d > 30*time.Second || d > 3*time.Second && holds.Load() >= 10
			}
			for began := time.Now(); !enough(time.Since(began)); time.Sleep(50 * time.Millisecond) {
				w.do("SCRIPT", "FLUSH")
			}
			cancel()
			work.Wait()
			p.Intercept(nil)
			t.Logf("%d holds", holds.Load())
			if holds.Load() < 10 {
				t.Error("that is too few to be of use")
			}
			left := ""
			for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
				left = w.keys(nil)
				isToken := strings.HasPrefix(left, "redisson_lock_token:{order}")
				if left == "" || isToken && !strings.Contains(left, "\n") {
					return
				}
			}
			t.Errorf("left behind:\n%s", left)
		})
	}
}

// A release notifies the next holder by a message, on one server and on a Cluster: without it, each waiter would ask
// again only after a second (Fair) or ten. A busy machine may delay most messages, but not all.
func TestReleaseNotifies(t *testing.T) {
	t.Parallel()
	for where, start := range map[string]func(t *testing.T) newClient{
		"OneServer": func(t *testing.T) newClient { return standalone(redisserver.ForTest(t, redisserver.Config{})) },
		"Cluster": func(t *testing.T) newClient {
			return cluster(redisserver.ClusterForTest(t, 3, 0, redisserver.Config{}))
		},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			client := start(t)
			for name, lock := range lockTypes {
				w := &wire{T: t, Engine: open(t, client, redisson.WithLock(lock))}
				fastest := time.Hour
				holder := fairRequest("first of " + name)
				w.mustTake(holder)
				const rounds = 6
				for i := range rounds {
					next := fairRequest(fmt.Sprint(name, i))
					next.Join = true
					w.mustBeRefused(next)
					granted := w.wait(next)
					time.Sleep(100 * time.Millisecond) // it subscribes
					began := time.Now()
					w.mustRelease(holder)
					w.mustBeGranted(granted, 15*time.Second)
					fastest = min(fastest, time.Since(began))
					holder = next
				}
				w.mustRelease(holder)
				if fastest > 500*time.Millisecond {
					t.Errorf("%s: the fastest of %d waiters was granted it after %v", name, rounds, fastest)
				}
			}
		})
	}
}
