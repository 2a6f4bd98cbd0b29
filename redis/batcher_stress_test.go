package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// contention is a set of names for which many goroutines contend, with what must hold for each name.
type contention struct {
	t     *testing.T
	e     *redis.Engine
	names []struct {
		inside atomic.Int32
		last   atomic.Uint64 // token
	}
	granted atomic.Int64

	mu      sync.Mutex
	unknown []driver.Request // requests that were given up
}

// takeOnce takes one of the names, if it can, and releases it. Some callers give up early, and clean up as the core
// does.
func (c *contention) takeOnce(prefix string) {
	i := rand.IntN(len(c.names))
	name := &c.names[i]
	r := lasting(fmt.Sprint(prefix, i), time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if rand.IntN(8) == 0 {
		ctx, cancel = context.WithTimeout(context.Background(), rand.N(2*time.Millisecond))
		defer cancel()
	}
	g, err := c.e.Take(ctx, r)
	switch {
	case err == nil:
		c.granted.Add(1)
		if name.inside.Add(1) != 1 {
			c.t.Error("two hold a lock together")
		}
		if before := name.last.Swap(g.Token); before >= g.Token {
			c.t.Errorf("token %d was granted after %d", g.Token, before)
		}
		runtime.Gosched()
		name.inside.Add(-1)
		if err := c.release(r); err != nil {
			c.t.Errorf("Release: %v", err)
		}
	case driver.HadNoEffect(err):
	case errors.Is(err, context.DeadlineExceeded):
		// The take may still arrive. So the release is repeated for a moment, in which it mostly does, and at the end.
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			c.releaseUnknown(r)
		}
		c.mu.Lock()
		c.unknown = append(c.unknown, r)
		c.mu.Unlock()
	default:
		c.t.Errorf("Take: %v", err)
	}
}

// releaseUnknown releases what was given up, and may have taken effect.
func (c *contention) releaseUnknown(r driver.Request) {
	if err := c.release(r); err != nil && !driver.IsNo(err) {
		c.t.Errorf("Release of a request that was given up: %v", err)
	}
}

// release releases, again if the scripts are lost faster than they can be loaded.
func (c *contention) release(r driver.Request) (err error) {
	for range 10 {
		err = c.e.Release(context.Background(), driver.Release{Hold: hold(r)})
		if !driver.HadNoEffect(err) || driver.IsNo(err) {
			break
		}
	}
	return err
}

// Many goroutines contend for some names, and some give up at any time, while the server is made to forget the scripts
// again and again. No two hold a lock together, tokens grow, and nothing is left behind. Most requests go in batches.
func TestManyGoroutinesContend(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Plain", "AutoPipeline"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			e, sent := openCounted(t, standaloneClients(s)[kind], redis.WithoutFailoverGuard())
			c := &contention{t: t, e: e}
			c.names = make([]struct {
				inside atomic.Int32
				last   atomic.Uint64
			}, 20)
			var flushing, callers sync.WaitGroup
			stop := make(chan struct{})
			flushing.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
						if _, err := s.Command("SCRIPT", "FLUSH"); err != nil {
							t.Error(err)
						}
					}
				}
			})
			for range 64 {
				callers.Go(func() {
					for range 100 {
						c.takeOnce("name ")
					}
				})
			}
			callers.Wait()
			close(stop)
			flushing.Wait()
			scripts, batches := sent.sent()
			requests := scripts - len(batches)
			for _, n := range batches {
				requests += n
			}
			t.Logf("%d grants; %d requests in %d scripts, of which %d had several", c.granted.Load(), requests, scripts,
				len(batches))
			if 2*requests < 3*scripts {
				t.Errorf("%d requests went in %d scripts: hardly any together", requests, scripts)
			}
			eventually(t, "nothing is left behind", func() bool {
				for _, r := range c.unknown {
					c.releaseUnknown(r)
				}
				return len(leftoverKeys(t, s)) == 0
			})
		})
	}
}

// One goroutine that cannot cancel sends one script for each take and release, and needs no sender.
func TestOneGoroutineSendsAsManyScriptsAsItAsks(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for kind, client := range standaloneClients(s) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, c := openCounted(t, client, redis.WithoutFailoverGuard())
			senders := e.CountBatches()
			const rounds = 20
			for i := range rounds {
				r := lasting(fmt.Sprint(kind, i), time.Minute)
				if _, err := e.Take(context.Background(), r); err != nil {
					t.Fatal(err)
				}
				if err := e.Release(context.Background(), driver.Release{Hold: hold(r)}); err != nil {
					t.Fatal(err)
				}
			}
			if scripts, batches := c.sent(); scripts != 2*rounds || len(batches) != 0 {
				t.Errorf("%d scripts for %d rounds, %d of which had several requests, want two for each", scripts,
					rounds, len(batches))
			}
			if senders.Load() != 0 {
				t.Error("senders were used for one goroutine")
			}
		})
	}
}

// In a Cluster, names are on different servers, so no script has several requests.
func TestNoBatchesOnACluster(t *testing.T) {
	t.Parallel()
	cl := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	for kind, client := range map[string]newClient{"Plain": cluster(cl), "AutoPipeline": pipelined(cluster(cl))} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, c := openCounted(t, client, redis.WithoutFailoverGuard())
			senders := e.CountBatches()
			var callers sync.WaitGroup
			for i := range 16 {
				callers.Go(func() {
					for j := range 20 {
						r := lasting(fmt.Sprint(kind, i, " ", j), time.Minute)
						if got := <-startTake(e, r); got.err != nil {
							t.Errorf("StartTake: %v", got.err)
						}
						if got := <-startRelease(e, r); got.err != nil {
							t.Errorf("StartRelease: %v", got.err)
						}
						if _, err := e.Take(context.Background(), r); err != nil {
							t.Errorf("Take: %v", err)
						}
						if err := e.Release(context.Background(), driver.Release{Hold: hold(r)}); err != nil {
							t.Errorf("Release: %v", err)
						}
					}
				})
			}
			callers.Wait()
			if scripts, batches := c.sent(); scripts == 0 || len(batches) > 0 || senders.Load() > 0 {
				t.Errorf("%d scripts, of which %d had several requests", scripts, len(batches))
			}
		})
	}
}
