package leasehold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
)

// Err is about the lease alone: the context that was passed to Lock may end before, or not at all.
func TestErrOfALease(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, when string, l *leasehold.Lease, want error) {
		t.Helper()
		if err := l.Err(); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s Err is %v, want %v", when, err, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, newNetwork())
		ctx, cancel := context.WithCancel(t.Context())
		l, err := c.Mutex("name", leasehold.TTL(ttl), leasehold.NoRenew()).Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "at first", l, nil)
		_ = l.Context()
		cancel()
		check(t, "when the caller has given up", l, nil)
		time.Sleep(ttl)
		check(t, "after its time", l, leasehold.ErrLost)
		before, lease, _ := handedOver(t, c.Mutex("order"), 0)
		check(t, "handed over", before, leasehold.ErrReleased)
		check(t, "handed over", lease, nil)
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		check(t, "released", lease, leasehold.ErrReleased)
	})
}
