package leasehold_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// twoServers is an engine that keeps names beginning with "a" on a server that may be frozen, and the others on
// another.
type twoServers struct {
	*memory.Engine
	frozen atomic.Bool
}

func (e *twoServers) Abilities() driver.Abilities {
	return driver.Abilities{Name: "two servers"}
}

func (e *twoServers) Route(k driver.Key) uint32 {
	if strings.HasPrefix(k.Name, "a") {
		return 1
	}
	return 2
}

// reach waits until ctx ends, if the server of a key is frozen.
func (e *twoServers) reach(ctx context.Context, k driver.Key) error {
	if e.frozen.Load() && e.Route(k) == 1 {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (e *twoServers) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := e.reach(ctx, r.Key); err != nil {
		return driver.Grant{}, err
	}
	return e.Engine.Take(ctx, r)
}

func (e *twoServers) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	for i, r := range batch {
		if e.reach(ctx, r.Key) == nil {
			e.Engine.Renew(ctx, batch[i:i+1], func(_ int, err error) { report(i, err) })
		}
	}
}

func (e *twoServers) Release(ctx context.Context, r driver.Release) error {
	if err := e.reach(ctx, r.Key); err != nil {
		return err
	}
	return e.Engine.Release(ctx, r)
}

// One of two servers is frozen, and so are the renewals of many leases and the takes of many callers. Takes on the
// other one are as quick as before, from the first moment until those leases are lost.
func TestFrozenServerSlowsNoTakesOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &twoServers{Engine: memory.New()}
		c := newClient(t, e)
		for i := range 100 {
			take(t, c.Mutex(fmt.Sprint("a held ", i)).Lock)
			time.Sleep(50 * time.Millisecond)
		}
		kept := take(t, c.Mutex("b held").Lock)
		e.frozen.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 200 {
			go func() {
				for ctx.Err() == nil {
					_, _ = c.Mutex(fmt.Sprint("a wanted ", i)).TryLock(ctx)
				}
			}()
		}
		const long = leasehold.DefaultTTL + 5*time.Second
		for began := time.Now(); time.Since(began) < long; time.Sleep(100 * time.Millisecond) {
			sent := time.Now()
			lease, err := c.Mutex("b wanted").TryLock(t.Context())
			if took := time.Since(sent); err != nil || took > 10*time.Millisecond {
				t.Fatalf("%v after the freeze a take on the other server took %v: %v", time.Since(began), took, err)
			}
			release(t, lease)
		}
		if err := kept.Err(); err != nil {
			t.Errorf("a lease on the other server: %v", err)
		}
		e.frozen.Store(false)
		cancel()
		synctest.Wait()
		time.Sleep(time.Minute) // what was left is cleaned up
	})
}
