package etcd_test

import (
	"context"
	"crypto/rand"
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
	asks := map[string]func(context.Context, driver.Request) error{
		"Take": func(ctx context.Context, r driver.Request) error { _, err := e.Take(ctx, r); return err },
		"Release": func(ctx context.Context, r driver.Request) error {
			return e.Release(ctx, driver.Release{Hold: holdOf(r)})
		},
	}
	faults := map[string]struct {
		harm, mend func()
		noEffect   bool
	}{
		"goes nowhere": {func() { c.Refuse(); c.Cut() }, func() { must(t, c.Allow()) }, true},
		"is sent":      {c.Freeze, c.Thaw, false},
	}
	for request, ask := range asks {
		for fault, f := range faults {
			eventually(t, request+" "+fault, func() bool { // at first something else may happen, and on a busy machine nothing at all
				r := asked(rand.Text())
				r.TTL = time.Hour // so that the session lasts for another minute without a request
				taken(t, e, r)
				if request == "Take" {
					must(t, e.Release(t.Context(), driver.Release{Hold: holdOf(r)}))
				}
				f.harm()
				defer f.mend()
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				err := ask(ctx, r)
				if err == nil || driver.IsNo(err) {
					t.Fatalf("%s while it %s: %v", request, fault, err)
				}
				return driver.HadNoEffect(err) == f.noEffect
			})
		}
	}
}
