package redis_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// mayFall marks the contexts of requests that too few replicas may confirm.
type mayFall struct{}

// shortOfReplicas makes every third of the marked requests one that no replica has confirmed, as the client sees it.
type shortOfReplicas struct{ asked, fell *atomic.Int64 }

func (h shortOfReplicas) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			count, is := cmd.(*goredis.Cmd)
			if is && cmd.Name() == "wait" && ctx.Value(mayFall{}) != nil && h.asked.Add(1)%3 == 0 {
				h.fell.Add(1)
				count.SetVal(int64(0))
			}
		}
		return err
	}
}

func (shortOfReplicas) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (shortOfReplicas) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }

// marksTakes marks the contexts of takes.
type marksTakes struct{ driver.Engine }

func (m marksTakes) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return m.Engine.Take(context.WithValue(ctx, mayFall{}, true), r)
}

func (m marksTakes) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return m.Engine.Wait(context.WithValue(ctx, mayFall{}, true), r)
}

// Grants that too few replicas confirm are undone, and the releases that undo them hurt nobody, whenever they arrive
// again.
func TestContractWithUndoneGrants(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	hook := shortOfReplicas{new(atomic.Int64), new(atomic.Int64)}
	client := func(t *testing.T) goredis.UniversalClient {
		c := standalone(r.Master)(t)
		c.AddHook(hook)
		return c
	}
	e := environment(client, redis.WithoutFailoverGuard(), redis.WithReplicas(1, 5*time.Second))
	open := e.Open
	e.Open = func(t *testing.T) driver.Engine { return marksTakes{open(t)} }
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			if !strings.HasSuffix(t.Name(), "/SpentOwnersHurtNobody") {
				t.Skip("only this one goes on with another owner")
			}
			return e
		},
		TTL: time.Second,
	})
	t.Cleanup(func() {
		if hook.fell.Load() == 0 {
			t.Error("no grant was undone: nothing is shown")
		}
		t.Logf("%d of %d grants were undone", hook.fell.Load(), hook.asked.Load())
	})
}
