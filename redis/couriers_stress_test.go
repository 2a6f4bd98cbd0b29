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

// crossing is names over which many goroutines contend, and what must be true of each.
type crossing struct {
	t     *testing.T
	e     *redis.Engine
	names []struct {
		inside atomic.Int32
		last   atomic.Uint64 // token
	}
	granted atomic.Int64

	mu     sync.Mutex
	doubts []driver.Request // which were given up
}

// cross takes one of the names, if it can, and releases it. Some callers give up early, and clean up as the core does.
func (c *crossing) cross(prefix string) {
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
		// The take may still come: so the release is repeated for a moment, in which it most often has, and in the end.
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			c.doubt(r)
		}
		c.mu.Lock()
		c.doubts = append(c.doubts, r)
		c.mu.Unlock()
	default:
		c.t.Errorf("Take: %v", err)
	}
}

// doubt releases what was given up, and may have come.
func (c *crossing) doubt(r driver.Request) {
	if err := c.release(r); err != nil && !driver.IsNo(err) {
		c.t.Errorf("Release of what was given up: %v", err)
	}
}

// release releases, again if the scripts are lost faster than they can be loaded.
func (c *crossing) release(r driver.Request) (err error) {
	for range 10 {
		err = c.e.Release(context.Background(), driver.Release{Hold: hold(r)})
		if !driver.HadNoEffect(err) || driver.IsNo(err) {
			break
		}
	}
	return err
}

// Many goroutines contend for some names, and some give up at any time, while the server is made to forget the scripts again and again. No two hold a
// lock together, tokens grow, and nothing is left behind. Most go together.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"Plain", "AutoPipeline"} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			e, sent := counted(t, faces(s)[face], redis.WithoutFailoverGuard())
			c := &crossing{t: t, e: e}
			c.names = make([]struct {
				inside atomic.Int32
				last   atomic.Uint64
			}, 20)
			var flushing, crowd sync.WaitGroup
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
				crowd.Go(func() {
					for range 100 {
						c.cross("name ")
					}
				})
			}
			crowd.Wait()
			close(stop)
			flushing.Wait()
			scripts, batches := sent.sent()
			errands := scripts - len(batches)
			for _, n := range batches {
				errands += n
			}
			t.Logf("%d grants; %d errands in %d scripts, of which %d did several", c.granted.Load(), errands, scripts, len(batches))
			if 2*errands < 3*scripts {
				t.Errorf("%d errands went in %d scripts: hardly any together", errands, scripts)
			}
			eventually(t, "nothing is left behind", func() bool {
				for _, r := range c.doubts {
					c.doubt(r)
				}
				return len(remains(t, s)) == 0
			})
		})
	}
}

// One goroutine sends one script for each take and release, and nobody else is made to carry it.
func TestOneGoroutineSendsAsManyScriptsAsItAsks(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for face, client := range faces(s) {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			e, c := counted(t, client, redis.WithoutFailoverGuard())
			const rounds = 20
			for i := range rounds {
				r := lasting(fmt.Sprint(face, i), time.Minute)
				takes(t, e, r)
				release(t, e, r)
			}
			if scripts, batches := c.sent(); scripts != 2*rounds || len(batches) != 0 {
				t.Errorf("%d scripts for %d rounds, %d of which did several things, want two for each", scripts, rounds, len(batches))
			}
			if e.EverSent() {
				t.Error("couriers went for one goroutine")
			}
		})
	}
}

// In a Cluster, names are in different places: no script may do several.
func TestNothingGoesTogetherOnACluster(t *testing.T) {
	t.Parallel()
	cl := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	for face, client := range map[string]newClient{"Plain": cluster(cl), "AutoPipeline": pipelined(cluster(cl))} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			e, c := counted(t, client, redis.WithoutFailoverGuard())
			var crowd sync.WaitGroup
			for i := range 16 {
				crowd.Go(func() {
					for j := range 20 {
						r := lasting(fmt.Sprint(face, i, " ", j), time.Minute)
						if got := <-startsTake(e, r); got.err != nil {
							t.Errorf("StartTake: %v", got.err)
						}
						if got := <-startsRelease(e, r); got.err != nil {
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
			crowd.Wait()
			if scripts, batches := c.sent(); scripts == 0 || len(batches) > 0 || e.EverSent() {
				t.Errorf("%d scripts, of which %d did several", scripts, len(batches))
			}
		})
	}
}
