package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// pipelineCounter counts the pipelines of a client that have several scripts.
type pipelineCounter struct{ several atomic.Int64 }

func (c *pipelineCounter) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *pipelineCounter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }

func (c *pipelineCounter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if len(cmds) > 1 && cmds[0].Name() == "evalsha" && cmds[1].Name() == "evalsha" {
			c.several.Add(1)
		}
		return next(ctx, cmds)
	}
}

// Scripts of many goroutines go in one write, while requests and replies are lost and scripts are forgotten. Who is
// granted a lock holds it, and nothing is left behind.
func TestFaultsOfScriptsThatGoTogether(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(addr string) newClient{
		"by default":     func(addr string) newClient { return withOptions(goredis.Options{Addr: addr}) },
		"with deadlines": noRetries,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			p := redisserver.ProxyForTest(t, s.Addr())
			counter := &pipelineCounter{}
			e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
				c := client(p.Addr())(t)
				c.AddHook(counter)
				return c
			})
			beside := unguarded(t, standalone(s))
			known := lasting("known", time.Minute)
			mustTake(t, e, known)
			release(t, e, known) // from now on the engine knows the server
			p.Intercept(func(request []byte) redisserver.Action {
				if !bytes.Contains(request, []byte("evalsha")) || rand.N(100) > 0 {
					return redisserver.Pass
				}
				return []redisserver.Action{redisserver.CutBefore, redisserver.CutAfter}[rand.N(2)]
			})
			var callers sync.WaitGroup
			requests := make([]driver.Request, 24*40)
			var grants atomic.Int64
			for i := range requests {
				requests[i] = lasting(fmt.Sprint(i), time.Minute)
				requests[i].Mode = driver.Shared // which a script of its own decides
			}
			for own := range slices.Chunk(requests, 40) {
				callers.Go(func() {
					for i, r := range own {
						takeAsFaultsAllow(t, e, beside, r, &grants)
						if r.Owner == requests[i].Owner && i%4 == 0 {
							command(t, s, "SCRIPT", "FLUSH")
						}
					}
				})
			}
			callers.Wait()
			p.Intercept(nil)
			t.Logf("%d pipelines had several scripts; %d grants", counter.several.Load(), grants.Load())
			if counter.several.Load() < 10 || grants.Load() < 24*10 {
				t.Error("that is too few to be of use")
			}
			releaseAll(t, e, requests)
			checkNothingLeft(t, s)
		})
	}
}

// takeAsFaultsAllow takes a lock, maybe for a caller that leaves, and releases it until that is certain.
func takeAsFaultsAllow(t *testing.T, e, beside *redis.Engine, r driver.Request, grants *atomic.Int64) {
	limit := time.Second
	if rand.N(8) == 0 {
		limit = rand.N(2 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	_, err := e.Take(ctx, r)
	cancel()
	if err == nil {
		grants.Add(1)
		renewed := errors.New("not asked yet")
		for renewed != nil && !driver.IsNo(renewed) { // scripts may be forgotten again and again
			renewed = renewOne(t.Context(), beside, hold(r), time.Minute)
		}
		if renewed != nil {
			t.Errorf("it was granted, and is not held: %v", renewed)
		}
	} else if driver.IsNo(err) {
		t.Errorf("nobody else holds it: %v", err)
	}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		released := e.Release(ctx, driver.Release{Hold: hold(r)})
		cancel()
		if released == nil || driver.IsNo(released) {
			return
		}
	}
}
