package leasehold_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// A client that is neither used nor closed has no goroutines after a while.
func TestIdleClientHasNoGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		m := leasehold.New(n).Mutex("a", leasehold.TTL(ttl))
		for range 3 {
			noErr(t, lock(t, m).Release())
		}
		if got := goroutinesInside(); got != 1 {
			t.Errorf("%d goroutines serve one caller, want the same one again and again", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := goroutinesInside(); got != 0 {
			t.Errorf("%d goroutines are left", got)
		}
	})
}

// A caller that cannot cancel is served without a goroutine by an engine that observes deadlines.
func TestBoundedEnginesAreCalledDirectly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		m := leasehold.New(bounded{n}).Mutex("a", leasehold.TTL(ttl))
		lease, err := m.Lock(t.Context())
		noErr(t, err)
		if got := goroutinesInside(); got != 1 {
			t.Errorf("%d goroutines: a caller who can cancel needs one to leave behind", got)
		}
		noErr(t, lease.Release())
		time.Sleep(time.Minute)
		lease, err = m.Lock(context.Background())
		noErr(t, err)
		noErr(t, lease.Release())
		if got := goroutinesInside(); got != 0 {
			t.Errorf("%d goroutines for one who cannot", got)
		}
	})
}

// bounded is a network that observes the deadlines of contexts.
type bounded struct{ *network }

func (e bounded) Abilities() driver.Abilities {
	can := e.network.Abilities()
	can.Bounded = true
	return can
}
