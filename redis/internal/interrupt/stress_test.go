package interrupt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Goroutines that share a few connections cancel their requests at random moments. Each request that is not cancelled
// succeeds, and each answer is that to its own request.
func TestCancelledRequestsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	o := patient(s)
	o.PoolSize, o.PoolTimeout = 4, time.Hour
	c := newClient(t, o)
	i := Of(c)
	var callers sync.WaitGroup
	var cancelled, answered atomic.Int64
	for caller := range 16 {
		callers.Go(func() {
			for n := range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				mayEnd := n%2 == 0
				if mayEnd {
					time.AfterFunc(rand.N(300*time.Microsecond), cancel)
				}
				own := i.Begin(ctx)
				text := fmt.Sprint("caller ", caller, " request ", n)
				cmd := redis.NewStringCmd(own, "echo", text)
				err := own.End(c.Process(own, cmd))
				switch {
				case err == nil && cmd.Val() != text:
					t.Errorf("the answer to %q is %q", text, cmd.Val())
				case err == nil:
					answered.Add(1)
				case !mayEnd || !errors.Is(err, context.Canceled):
					t.Errorf("%s: %v", text, err)
				default:
					cancelled.Add(1)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	if cancelled.Load() == 0 || answered.Load() < 16*150 {
		t.Errorf("%d requests were cancelled, and %d answered", cancelled.Load(), answered.Load())
	}
	if i.foreign.Load() {
		t.Error("the client seems to have used another connection")
	}
}
