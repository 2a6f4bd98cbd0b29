package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// handedOverWithTokens returns a lease whose hold has another reserved token, and the call that waits for it.
func handedOverWithTokens(t *testing.T, m interface {
	Lock(context.Context) (*leasehold.Lease, error)
}) (*leasehold.Lease, *outcome[*leasehold.Lease]) {
	t.Helper()
	first := take(t, m.Lock)
	waiting := queueUp(t, m.Lock, m.Lock)
	release(t, first)
	return waiting[0].wantValue(t), waiting[1]
}

// From the moment when a downgrade is sent, the lease is only a read lock, whatever the outcome: readers may hold the
// lock, so it must not be handed over or entered again as a write lock.
func TestDowngradeOfUnknownOutcomeIsNoWriteLock(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"reply lost": {Break: true},
		"in flight":  {Before: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				m := newClient(t, n).RWMutex("a")
				lease, next := handedOverWithTokens(t, m)
				n.on(fault, drivertest.Downgrade)
				downgraded := start(t.Context(), func(ctx context.Context) (struct{}, error) {
					return struct{}{}, lease.Downgrade(ctx)
				})
				downgraded.settle()
				_, err := m.Lock(lease.Context())
				wantErr(t, err, leasehold.ErrUpgrade)
				noErr(t, lease.Release())
				writer := next.wantValue(t)
				time.Sleep(2 * time.Second) // the request has arrived
				_, err = newClient(t, n.engine).RWMutex("a").TryRLock(t.Context())
				if !errors.Is(err, leasehold.ErrHeld) {
					t.Errorf("a reader beside a writer: %v", err)
				}
				noErr(t, writer.Release())
			})
		})
	}
}

func TestDowngradeUnderReentryIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newClient(t, memory.New()).RWMutex("a")
		outer := take(t, m.Lock)
		inner, err := m.RLock(outer.Context())
		noErr(t, err)
		wantErr(t, inner.Downgrade(t.Context()), leasehold.ErrNested)
		noErr(t, inner.Release())
		noErr(t, outer.Downgrade(t.Context()))
		noErr(t, outer.Release())
	})
}

// pastGrants is an engine whose grants start one ttl ago: they come too late.
type pastGrants struct{ *network }

func (e pastGrants) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := e.network.Take(ctx, r)
	g.Start = driver.Now().Add(-r.TTL)
	return g, err
}

func TestAtLeastDoesNotKeepWhatNobodyHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		m := newClient(t, pastGrants{n}).Mutex("a", leasehold.TTL(ttl), leasehold.AtLeast(time.Hour))
		_, err := m.Lock(t.Context())
		wantErr(t, err, leasehold.ErrUnavailable)
		time.Sleep(3 * ttl)
		if !n.free(t, "a") {
			t.Error("kept for AtLeast although nobody held it")
		}
	})
}

func TestCloseReleasesAllAlthoughSomeAreLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memory.New()
		client, operator := newClient(t, engine), admin.New(engine)
		for i := range 200 {
			lease := take(t, client.Mutex(fmt.Sprint(i)).Lock)
			if i%10 == 0 {
				noErr(t, operator.ForceRelease(t.Context(), driver.Lock, lease.Name(), lease.Token()))
			}
		}
		wantErr(t, client.Close(), leasehold.ErrLost)
		left, err := operator.List(t.Context(), admin.Query{})
		if err != nil || len(left) > 0 {
			t.Errorf("%d locks were left behind, %v", len(left), err)
		}
	})
}

func TestCloseFinishesTheCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		client := newClient(t, n)
		lease := take(t, client.Mutex("a").Lock)
		n.on(drivertest.Fault{Before: 2 * time.Second, FailBefore: true}, drivertest.Release)
		wantErr(t, lease.Release(), leasehold.ErrUnknown)
		time.Sleep(time.Second) // the clean-up's own release is in flight
		n.heal()
		noErr(t, client.Close())
		if !n.free(t, "a") {
			t.Error("Close returned no error, although a lock is still held")
		}
		time.Sleep(2 * time.Second) // the request arrives
	})
}

func TestForeignClientIsNotBlamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := memory.New()
		closing, other := newClient(t, engine), newClient(t, engine)
		ctx := take(t, closing.Mutex("a").Lock).Context()
		noErr(t, closing.Close())
		_, err := other.Mutex("b").Lock(ctx)
		wantErr(t, err, context.Canceled)
	})
}

func TestReleasedLeaseKeepsItsLastDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lease, next := handedOverWithTokens(t, newClient(t, memory.New()).Mutex("a", leasehold.TTL(ttl)))
		deadline := lease.Deadline()
		noErr(t, lease.Release())
		time.Sleep(ttl)
		if moved := lease.Deadline().Sub(deadline); moved != 0 {
			t.Errorf("the deadline has moved by %v", moved)
		}
		noErr(t, next.wantValue(t).Release())
	})
}

func TestLeadIsNeverHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newClient(t, memory.New(), leasehold.WithHolder("me")).Election("a")
		campaign := func(ctx context.Context) (*leasehold.Lease, error) { return e.Campaign(ctx, "me") }
		first := take(t, campaign)
		waiting := queueUp(t, campaign, campaign)
		release(t, first)
		release(t, waiting[0].wantValue(t))
		lead := waiting[1].wantValue(t)
		if leader, err := e.Leader(t.Context()); err != nil || leader.Token != lead.Token() {
			t.Errorf("the leader is %+v, %v; want token %d", leader, err, lead.Token())
		}
		release(t, lead)
	})
}

// shortWait grants waiters a first lease of one second.
type shortWait struct{ *memory.Engine }

func (e shortWait) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := e.Engine.Wait(ctx, r)
	g.TTL = time.Second
	return g, err
}

func TestShortFirstLeaseGrowsToItsTTLWithoutRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := shortWait{memory.New()}
		holder := take(t, newClient(t, e).Mutex("a").Lock)
		waiting := queueUp(t, newClient(t, e).Mutex("a", leasehold.TTL(ttl), leasehold.NoRenew()).Lock)[0]
		release(t, holder)
		lease := waiting.wantValue(t)
		began := time.Now()
		<-lease.Context().Done()
		if lasted := time.Since(began); lasted < validity-10*time.Millisecond || lasted > validity+10*time.Millisecond {
			t.Errorf("the lease lasted %v, want %v", lasted, validity)
		}
	})
}
