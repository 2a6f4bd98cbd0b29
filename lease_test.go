package leasehold_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
)

// ttl is that of the leases in these tests, all of which run in virtual time.
const ttl = 10 * time.Second

// validity is how long a lease may be relied on: ttl less 1 % and 2 ms.
const validity = ttl - ttl/100 - 2*time.Millisecond

// network is between a client and its engine. A test may give it faults.
type network struct {
	*drivertest.Faulty
	engine *memory.Engine
	rule   atomic.Pointer[func(drivertest.Op) drivertest.Fault]
	count  map[drivertest.Method]*atomic.Int64
}

func newNetwork() *network {
	n := &network{engine: memory.New(), count: map[drivertest.Method]*atomic.Int64{}}
	for _, m := range []drivertest.Method{drivertest.Take, drivertest.Wait, drivertest.Renew, drivertest.Release,
		drivertest.List, drivertest.Downgrade} {
		n.count[m] = new(atomic.Int64)
	}
	n.Faulty = drivertest.NewFaulty(n.engine, func(op drivertest.Op) drivertest.Fault {
		if c := n.count[op.Method]; c != nil {
			c.Add(1)
		}
		if rule := n.rule.Load(); rule != nil {
			return (*rule)(op)
		}
		return drivertest.Fault{}
	})
	return n
}

// on makes the fault happen to all requests of these methods from now on.
func (n *network) on(fault drivertest.Fault, methods ...drivertest.Method) {
	rule := func(op drivertest.Op) drivertest.Fault {
		for _, m := range methods {
			if op.Method == m {
				return fault
			}
		}
		return drivertest.Fault{}
	}
	n.rule.Store(&rule)
}

func (n *network) heal() {
	n.rule.Store(nil)
	synctest.Wait() // for requests that are about to hang
	n.Resume()
}

// free reports whether the engine has no holder and no queue of the name.
func (n *network) free(t *testing.T, name string) bool {
	t.Helper()
	all, err := n.engine.List(context.Background(), driver.Query{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return len(all) == 0
}

func lock(t *testing.T, m *leasehold.Mutex) *leasehold.Lease {
	t.Helper()
	lease, err := m.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// wantTook fails unless about that much (virtual) time has passed since began.
func wantTook(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(began); took < want-2*time.Millisecond || took > want+2*time.Millisecond {
		t.Fatalf("took %v, want %v", took, want)
	}
}

// wantEnd waits for the end of the lease and checks its moment and cause.
func wantEnd(t *testing.T, lease *leasehold.Lease, at time.Time, cause error) {
	t.Helper()
	<-lease.Context().Done()
	if late := time.Since(at); late < -2*time.Millisecond || late > 0 {
		t.Errorf("the context ended %v after %v", late, at)
	}
	wantErr(t, context.Cause(lease.Context()), cause)
}

func TestDeadlineCountsFromBeforeTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.on(drivertest.Fault{Before: time.Second, After: 2 * time.Second}, drivertest.Take)
		began := time.Now()
		lease := lock(t, newClient(t, n).Mutex("a", leasehold.TTL(ttl), leasehold.NoRenew()))
		if got := lease.Deadline().Sub(began); got != validity {
			t.Fatalf("deadline is %v after the call, want %v", got, validity)
		}
		wantEnd(t, lease, began.Add(validity), leasehold.ErrLost)
	})
}

func TestGrantThatComesTooLateIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.on(drivertest.Fault{After: 2 * ttl}, drivertest.Take)
		client := newClient(t, n, leasehold.WithRequestTimeout(time.Hour))
		_, err := client.Mutex("a", leasehold.TTL(ttl)).Lock(t.Context())
		wantErr(t, err, leasehold.ErrUnavailable)
		n.heal()
		time.Sleep(3 * ttl)
		if !n.free(t, "a") {
			t.Fatal("the late grant was left behind")
		}
	})
}

func TestRenewalComesEveryThirdOfTheTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		lease := lock(t, newClient(t, n).Mutex("a", leasehold.TTL(ttl)))
		time.Sleep(10*ttl + time.Second)
		if got := n.count[drivertest.Renew].Load(); got < 30 || got > 32 {
			t.Errorf("%d renewals in 10 ttl, want 30 to 32", got)
		}
		if err := lease.Context().Err(); err != nil {
			t.Fatal(context.Cause(lease.Context()))
		}
		noErr(t, lease.Release())
		if !n.free(t, "a") {
			t.Fatal("still held after release")
		}
	})
}

func TestLeaseEndsAtItsDeadlineWhileTheEngineHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		lost := make(lostEvents, 1)
		danger := make(dangerEvents, 1)
		m := newClient(t, n, leasehold.WithObserver(lost, danger)).Mutex("a", leasehold.TTL(ttl),
			leasehold.Label("jobs"))
		lease := lock(t, m)
		ctx := lease.Context()
		time.Sleep(ttl / 2) // one renewal has succeeded
		deadline := lease.Deadline()
		n.on(drivertest.Fault{Hang: true}, drivertest.Renew, drivertest.Release, drivertest.Take)

		e := <-danger
		if left := time.Until(deadline); (left-ttl/3).Abs() > 2*time.Millisecond || e.Left != left {
			t.Errorf("danger was observed %v before the deadline (event says %v), want %v", left, e.Left, ttl/3)
		}
		<-ctx.Done()
		wantEnd(t, lease, deadline, leasehold.ErrLost)
		if e := <-lost; e.Label != "jobs" || e.Token != lease.Token() || !errors.Is(e.Cause, leasehold.ErrLost) {
			t.Errorf("lost event is %+v", e)
		}
		wantErr(t, lease.Release(), leasehold.ErrLost)

		// The request that hung may still have extended the lease: it is cleaned up.
		n.heal()
		time.Sleep(2 * ttl)
		if !n.free(t, "a") {
			t.Fatal("something was left behind")
		}
	})
}

func TestShortOutageIsSurvived(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"request lost":      {FailBefore: true},
		"reply lost":        {Drop: true},
		"connection broken": {Break: true},
		"hangs":             {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				lease := lock(t, newClient(t, n).Mutex("a", leasehold.TTL(ttl)))
				time.Sleep(ttl / 6)
				n.on(fault, drivertest.Renew)
				time.Sleep(ttl / 2)
				n.heal()
				time.Sleep(3 * ttl)
				if lease.Context().Err() != nil {
					t.Fatal(context.Cause(lease.Context()))
				}
				noErr(t, lease.Release())
			})
		})
	}
}

func TestNoFromTheEngineEndsTheLeaseAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		client := newClient(t, n)
		lease := lock(t, client.Mutex("a", leasehold.TTL(ttl)))
		time.Sleep(time.Second)
		noErr(t, admin.New(n).ForceRelease(t.Context(), driver.Lock, "a", lease.Token()))
		other := lock(t, newClient(t, n.engine).Mutex("a", leasehold.TTL(ttl)))

		began := time.Now()
		<-lease.Context().Done()
		if took := time.Since(began); took > ttl/3 {
			t.Errorf("the loss was noticed after %v, want at the next renewal", took)
		}
		wantErr(t, context.Cause(lease.Context()), leasehold.ErrLost)
		wantErr(t, lease.Release(), leasehold.ErrLost)
		wantErr(t, lease.Extend(t.Context(), ttl), leasehold.ErrLost)
		time.Sleep(ttl)
		if other.Context().Err() != nil {
			t.Error("the next holder was harmed")
		}
		noErr(t, other.Release())
	})
}

func TestOneLostLeaseOfABatchHarmsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		client := newClient(t, n)
		gone := lock(t, client.Mutex("gone", leasehold.TTL(ttl)))
		slow := lock(t, client.Mutex("slow", leasehold.TTL(ttl)))
		good := lock(t, client.Mutex("good", leasehold.TTL(ttl)))
		rule := func(op drivertest.Op) drivertest.Fault {
			return drivertest.Fault{Hang: op.Key.Name == "slow" && op.Method != drivertest.Take}
		}
		n.rule.Store(&rule)
		noErr(t, admin.New(n).ForceRelease(t.Context(), driver.Lock, "gone", gone.Token()))
		deadline := slow.Deadline()
		<-gone.Context().Done()
		wantEnd(t, slow, deadline, leasehold.ErrLost)
		time.Sleep(5 * ttl)
		if good.Context().Err() != nil {
			t.Error("the good lease was lost, too")
		}
		n.heal()
	})
}

func TestReleaseWorksWithAnEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := newClient(t, n).Mutex("a").Lock(ctx)
		noErr(t, err)
		cancel()
		noErr(t, lease.Release())
		if !n.free(t, "a") {
			t.Fatal("still held")
		}
		noErr(t, lease.Release())
		if got := n.count[drivertest.Release].Load(); got != 1 {
			t.Errorf("%d releases were sent, want 1", got)
		}
		wantErr(t, context.Cause(lease.Context()), context.Canceled) // the caller's own context ended first
	})
}

func TestReleaseIsBoundedAndFinishedInTheBackground(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"request lost": {FailBefore: true},
		"reply lost":   {Drop: true},
		"hangs":        {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				m := newClient(t, n, leasehold.WithRequestTimeout(time.Second)).Mutex("a", leasehold.TTL(ttl))
				lease := lock(t, m)
				ctx := lease.Context()
				n.on(fault, drivertest.Release)
				began := time.Now()
				wantErr(t, lease.Release(), leasehold.ErrUnknown)
				if took := time.Since(began); took > time.Second {
					t.Errorf("Release took %v, want at most 1s", took)
				}
				wantErr(t, context.Cause(ctx), leasehold.ErrReleased)
				wantErr(t, lease.Release(), leasehold.ErrUnknown)

				time.Sleep(time.Second)
				n.heal()
				time.Sleep(ttl / 2)
				if !n.free(t, "a") {
					t.Error("the release was not repeated")
				}
				if got := n.count[drivertest.Renew].Load(); got != 0 {
					t.Errorf("%d renewals of a released lease", got)
				}
			})
		})
	}
}

func TestTakeOfUnknownOutcomeIsUndone(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"reply lost":        {Drop: true},
		"connection broken": {Break: true},
		"arrives late":      {Before: 3 * time.Second, Drop: true},
		"hangs":             {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				client := newClient(t, n, leasehold.WithRequestTimeout(time.Second))
				n.on(fault, drivertest.Take)
				began := time.Now()
				_, err := client.Mutex("a", leasehold.TTL(ttl)).Lock(t.Context())
				wantErr(t, err, leasehold.ErrUnavailable)
				if took := time.Since(began); took > time.Second {
					t.Errorf("Lock took %v, want at most 1s", took)
				}
				n.heal()
				time.Sleep(ttl / 2)
				synctest.Wait()
				if !n.free(t, "a") {
					t.Error("the lock was left behind")
				}
			})
		})
	}
}

func TestWaiterSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		holder := lock(t, newClient(t, n.engine).Mutex("a", leasehold.TTL(ttl)))
		got := make(chan error, 1)
		go func() {
			lease, err := newClient(t, n).Mutex("a", leasehold.TTL(ttl)).Lock(t.Context())
			if err == nil {
				err = lease.Release()
			}
			got <- err
		}()
		n.on(drivertest.Fault{Break: true, Before: time.Millisecond}, drivertest.Wait)
		time.Sleep(time.Second)
		n.on(drivertest.Fault{FailBefore: true}, drivertest.Take, drivertest.Wait)
		noErr(t, holder.Release())
		time.Sleep(ttl / 2)
		n.heal()
		noErr(t, <-got)
		time.Sleep(2 * ttl)
		if !n.free(t, "a") {
			t.Error("something was left behind")
		}
	})
}

func TestWaiterGivesUpAfterAnOutageOfOneTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		holder := lock(t, newClient(t, n.engine).Mutex("a", leasehold.TTL(ttl)))
		n.on(drivertest.Fault{Break: true}, drivertest.Wait)
		rule := func(op drivertest.Op) drivertest.Fault {
			return drivertest.Fault{FailBefore: op.Seq > 1} // the first Take is answered: held
		}
		n.rule.Store(&rule)
		began := time.Now()
		_, err := newClient(t, n).Mutex("a", leasehold.TTL(ttl)).Lock(t.Context())
		wantErr(t, err, leasehold.ErrUnavailable)
		if took := time.Since(began); took < ttl || took > ttl+time.Second {
			t.Errorf("gave up after %v, want one ttl", took)
		}
		n.heal()
		noErr(t, holder.Release())
		time.Sleep(2 * ttl)
		if !n.free(t, "a") {
			t.Error("something was left behind")
		}
	})
}

func TestCancelledWaiterLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"healthy":      {},
		"hangs":        {Hang: true},
		"arrives late": {Before: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				holder := lock(t, newClient(t, n.engine).Mutex("a", leasehold.TTL(ttl)))
				n.on(fault, drivertest.Wait)
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				began := time.Now()
				_, err := newClient(t, n).Mutex("a", leasehold.TTL(ttl)).Lock(ctx)
				wantErr(t, err, context.DeadlineExceeded)
				wantTook(t, began, 500*time.Millisecond)
				time.Sleep(time.Second)
				n.heal()
				synctest.Wait()
				noErr(t, holder.Release())
				time.Sleep(ttl/4 + time.Second) // the clean-up asks at least once in a quarter of the ttl
				if !n.free(t, "a") {
					t.Error("a ghost holds or waits")
				}
			})
		})
	}
}

// A short first lease is renewed to the whole ttl when a third of it has passed, and again if that is not answered in
// time. A lock that is released before costs no renewal.
func TestShortFirstLeaseIsRenewedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		e := shortFirst{n}
		c := newClient(t, e)
		defer c.Close()
		for range 3 {
			noErr(t, lock(t, c.Mutex("a", leasehold.TTL(ttl))).Release())
		}
		if renewals := n.count[drivertest.Renew].Load(); renewals != 0 {
			t.Errorf("%d renewals were sent for locks that were released at once", renewals)
		}
		n.on(drivertest.Fault{Hang: true}, drivertest.Renew)
		lease := lock(t, c.Mutex("a", leasehold.TTL(ttl)))
		time.Sleep(600 * time.Millisecond)
		synctest.Wait()
		if renewals := n.count[drivertest.Renew].Load(); renewals < 2 {
			t.Errorf("%d renewals were sent in the first lease, want a second one: the first is not answered", renewals)
		}
		n.heal()
		time.Sleep(350 * time.Millisecond)
		synctest.Wait()
		noErr(t, lease.Err())
		if left := time.Until(lease.Deadline()); left < ttl/2 {
			t.Errorf("not renewed to the whole ttl: %v are left", left)
		}
	})
}

// shortFirst grants a first lease of one second.
type shortFirst struct{ *network }

func (e shortFirst) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.TTL = time.Second
	g, err := e.network.Take(ctx, r)
	g.TTL = time.Second
	return g, err
}

type lostEvents chan leasehold.Lost

func (c lostEvents) ObserveLost(e leasehold.Lost) { c <- e }

type dangerEvents chan leasehold.InDanger

func (c dangerEvents) ObserveDanger(e leasehold.InDanger) { c <- e }
