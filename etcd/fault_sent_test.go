package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/cable"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// A request that never went on its way is known to have had no effect, and one that did is not.
func TestWhatWasNotSentHadNoEffect(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	c := cable.ForTest(t, s.Addr())
	e := engineOn(t, c.Addr())
	held, other := asked("held"), asked("other")
	held.TTL, other.TTL = time.Hour, time.Hour // so that the session lasts for another minute without a request
	taken(t, e, held)
	requests := map[string]func(context.Context) error{
		"Take":    func(ctx context.Context) error { _, err := e.Take(ctx, other); return err },
		"Release": func(ctx context.Context) error { return e.Release(ctx, driver.Release{Hold: holdOf(held)}) },
	}
	briefly := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		return do(ctx)
	}

	c.Refuse()
	c.Cut()
	for name, do := range requests {
		eventually(t, name+" is known to go nowhere", func() bool {
			err := briefly(do)
			if err == nil || driver.IsNo(err) {
				t.Fatalf("%s without a server: %v", name, err)
			}
			return driver.HadNoEffect(err)
		})
	}
	must(t, c.Allow())
	for name, do := range requests {
		eventually(t, name+" is sent", func() bool { // on a busy machine there may be no time for that
			taken(t, e, held)
			c.Freeze()
			defer c.Thaw()
			err := briefly(do)
			if err == nil || driver.IsNo(err) {
				t.Fatalf("%s on a connection that is frozen: %v", name, err)
			}
			return errors.Is(err, context.DeadlineExceeded) && !driver.HadNoEffect(err)
		})
	}
}
