package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/cable"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// A request that was never sent is known to have had no effect, and one that was sent is not.
func TestUnsentRequestHadNoEffect(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	c := cable.ForTest(t, s.Addr())
	e := engineOn(t, c.Addr())
	asks := map[string]func(context.Context, driver.Request) error{
		"Take": func(ctx context.Context, r driver.Request) error { _, err := e.Take(ctx, r); return err },
		"Release": func(ctx context.Context, r driver.Request) error {
			return e.Release(ctx, driver.Release{Hold: holdOf(r)})
		},
	}
	for name, ask := range asks {
		during := func(harm func(), limit time.Duration) error {
			r := newRequest(rand.Text())
			r.TTL = time.Hour // so that the session lasts for a minute without a request
			mustTake(t, e, r)
			if name == "Take" {
				must(t, e.Release(t.Context(), driver.Release{Hold: holdOf(r)}))
			}
			harm()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err := ask(ctx, r)
			if err == nil || driver.IsNo(err) {
				t.Fatalf("%s without a server: %v", name, err)
			}
			return err
		}
		eventually(t, name+" is known to go nowhere", func() bool { // at first it may still be sent
			err := during(func() { c.Refuse(); c.Cut() }, 300*time.Millisecond)
			must(t, c.Allow())
			return driver.HadNoEffect(err)
		})
		err := during(c.Freeze, 2*time.Second)
		if !errors.Is(err, context.DeadlineExceeded) || driver.HadNoEffect(err) {
			t.Errorf("%s on a connection that is frozen: %v", name, err)
		}
		c.Thaw()
	}
}
