package quorum

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// A client that cannot reach the arbiter waits at another node. It is granted a name although others pass that on to
// each other all the time.
func TestWaiterThatIsCutOffFromTheArbiter(t *testing.T) {
	t.Parallel()
	for _, held := range []time.Duration{0, 5 * ms, 50 * ms} {
		synctest.Test(t, func(t *testing.T) {
			s := newTestQuorum(t, 5)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			lockAndRelease := func(e *Engine, owner string, held time.Duration) error {
				r := joining(owner)
				g, err := e.Take(ctx, r)
				if err != nil {
					g, err = e.Wait(ctx, r)
				}
				if err == nil {
					time.Sleep(held)
				}
				hold := holdOf(cmp.Or(g.Owner, owner))
				_ = e.Release(context.Background(), driver.Release{Hold: hold, Place: owner})
				return err
			}
			arbiter := s.client(steady).arbiter(key).index
			for i := range 4 {
				e := s.client(steady)
				go func() {
					for n := 0; ctx.Err() == nil; n++ {
						_ = lockAndRelease(e, fmt.Sprint("client ", i, " call ", n), held)
					}
				}()
			}
			time.Sleep(time.Second)
			e := s.client(networkPlan{plan: func(node int, method string) delivery {
				d := steady.plan(node, method)
				d.lost = node == arbiter
				return d
			}})
			limit := time.AfterFunc(time.Minute, cancel)
			defer limit.Stop()
			if err := lockAndRelease(e, "cut off", 0); err != nil {
				t.Errorf("others hold it for %v each: not granted within a minute: %v", held, err)
			}
			cancel()
			time.Sleep(ttl)
		})
	}
}
