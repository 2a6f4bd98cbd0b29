package leasehold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
)

// Err tells of the lease alone: what its context was derived from may end before, or not at all.
func TestErrOfALease(t *testing.T) {
	t.Parallel()
	tells := func(t *testing.T, when string, l *leasehold.Lease, want error) {
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
		tells(t, "at first", l, nil)
		_ = l.Context()
		cancel()
		tells(t, "when the caller has given up", l, nil)
		time.Sleep(ttl)
		tells(t, "after its time", l, leasehold.ErrLost)
		before, lease, _ := handedOn(t, c.Mutex("order"), 0)
		tells(t, "handed on", before, leasehold.ErrReleased)
		tells(t, "handed over", lease, nil)
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		tells(t, "released", lease, leasehold.ErrReleased)
	})
}
