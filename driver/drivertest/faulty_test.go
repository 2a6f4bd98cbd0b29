package drivertest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/memory"
)

// bubble runs a test in virtual time with a Faulty around a memory engine. The fault hits the given
// method.
func bubble(
	t *testing.T, m drivertest.Method, fault drivertest.Fault,
	test func(*testing.T, *drivertest.Faulty, *memory.Engine),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		test(t, drivertest.NewFaulty(inner, func(op drivertest.Op) drivertest.Fault {
			if op.Method == m {
				return fault
			}
			return drivertest.Fault{}
		}), inner)
	})
}

func request(owner string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: "name"},
		Owner:  owner,
		Size:   1,
		Weight: 1,
		TTL:    time.Minute,
		Tokens: 1,
	}
}

func held(t *testing.T, e driver.Engine) bool {
	t.Helper()
	page, err := e.List(t.Context(), driver.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return len(page) > 0
}

func TestDelayedRequestArrivesAfterItsCaller(t *testing.T) {
	t.Parallel()
	bubble(t, drivertest.Take, drivertest.Fault{Before: 3 * time.Second},
		func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if _, err := f.Take(ctx, request("owner")); !errors.Is(err, context.DeadlineExceeded) ||
				driver.HadNoEffect(err) {
				t.Errorf("Take: %v, want an unknown deadline error", err)
			}
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("Take returned after %v, want 1s", waited)
			}
			if held(t, inner) {
				t.Error("the request has arrived too early")
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if !held(t, inner) {
				t.Error("the request has not arrived")
			}
		})
}

func TestDelayedReply(t *testing.T) {
	t.Parallel()
	bubble(t, drivertest.Take, drivertest.Fault{After: 3 * time.Second},
		func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			began := time.Now()
			done := make(chan error, 1)
			go func() {
				_, err := f.Take(t.Context(), request("owner"))
				done <- err
			}()
			synctest.Wait()
			if !held(t, inner) {
				t.Error("the request has had no effect before the reply")
			}
			if err := <-done; err != nil || time.Since(began) != 3*time.Second {
				t.Errorf("Take: %v after %v, want success after 3s", err, time.Since(began))
			}
		})
}

func TestDroppedReply(t *testing.T) {
	t.Parallel()
	bubble(t, drivertest.Release, drivertest.Fault{Drop: true},
		func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			if _, err := f.Take(t.Context(), request("owner")); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			h := driver.Hold{Key: request("").Key, Owner: "owner"}
			if err := f.Release(ctx, driver.Release{Hold: h}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Release: %v, want the end of ctx", err)
			}
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("Release returned after %v, want 1s", waited)
			}
			if held(t, inner) {
				t.Error("the request has had no effect")
			}
		})
}

func TestBrokenAndFailedRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  drivertest.Fault
		effect bool
	}{
		{drivertest.Fault{Break: true}, true},
		{drivertest.Fault{FailBefore: true}, false},
		{drivertest.Fault{FailBefore: true, Before: time.Second}, false},
	} {
		bubble(t, drivertest.Take, c.fault, func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			_, err := f.Take(t.Context(), request("owner"))
			if !errors.Is(err, drivertest.ErrFault) || driver.HadNoEffect(err) {
				t.Errorf("%+v: Take: %v, want an unknown ErrFault", c.fault, err)
			}
			if held(t, inner) != c.effect {
				t.Errorf("%+v: effect %v, want %v", c.fault, !c.effect, c.effect)
			}
		})
	}
}

// A request that hangs takes effect when it goes on, although its caller has left.
func TestHangingRequestArrivesAfterItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	bubble(t, drivertest.Take, drivertest.Fault{Hang: true},
		func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := f.Take(ctx, request("owner"))
				done <- err
			}()
			synctest.Wait()
			if n := f.Hanging(); n != 1 {
				t.Errorf("%d requests hang, want one", n)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || driver.HadNoEffect(err) {
				t.Errorf("Take returned %v", err)
			}
			time.Sleep(time.Hour)
			if held(t, inner) {
				t.Error("it arrived while it hung")
			}
			f.Resume()
			f.AwaitEffects()
			if n := f.Hanging(); n != 0 || !held(t, inner) {
				t.Errorf("%d requests hang after Resume, held %v", n, held(t, inner))
			}
		})
}

func TestLateWaitLeavesItsPlace(t *testing.T) {
	t.Parallel()
	bubble(t, drivertest.Wait, drivertest.Fault{Before: 2 * time.Second},
		func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			if _, err := f.Take(t.Context(), request("first")); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := f.Wait(ctx, request("second")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait: %v", err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if !inner.Wanted(request("").Key) {
				t.Error("the late Wait has not joined")
			}
		})
}

func TestEndedRequestDoesNotLeave(t *testing.T) {
	t.Parallel()
	bubble(t, drivertest.Take, drivertest.Fault{Before: time.Second},
		func(t *testing.T, f *drivertest.Faulty, inner *memory.Engine) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := f.Take(ctx, request("owner")); !driver.HadNoEffect(err) {
				t.Errorf("Take with an ended context: %v, want the answer of the engine behind", err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if held(t, inner) {
				t.Error("the request has left")
			}
		})
}

// Each item of a batch meets its own fault.
func TestRenewFaultsAreIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New()
		faults := map[string]drivertest.Fault{
			"slow":   {After: 2 * time.Second},
			"lost":   {Drop: true},
			"broken": {Break: true},
		}
		f := drivertest.NewFaulty(inner, func(op drivertest.Op) drivertest.Fault {
			if op.Method != drivertest.Renew {
				return drivertest.Fault{}
			}
			return faults[op.Key.Name]
		})
		names := []string{"slow", "fine", "lost", "broken", "also fine"}
		var batch []driver.Renewal
		for _, name := range names {
			r := request("owner of " + name)
			r.Name = name
			if _, err := f.Take(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			batch = append(batch, driver.Renewal{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: time.Hour})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		type outcome struct {
			item int
			err  error
			at   time.Duration
		}
		outcomes := make(chan outcome, len(batch))
		f.Renew(ctx, batch, func(i int, err error) { outcomes <- outcome{i, err, time.Since(began)} })
		close(outcomes)
		got := make([]*outcome, len(batch))
		for o := range outcomes {
			got[o.item] = &o
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Renew took %v, want it to give the lost item up with ctx", took)
		}
		for i, name := range names {
			switch o := got[i]; name {
			case "lost":
				if o != nil {
					t.Errorf("the lost item was reported: %v", o.err)
				}
			case "broken":
				if o == nil || !errors.Is(o.err, drivertest.ErrFault) || o.at != 0 {
					t.Errorf("the broken item: %+v", o)
				}
			case "slow":
				if o == nil || o.err != nil || o.at != 2*time.Second {
					t.Errorf("the slow item: %+v", o)
				}
			default:
				if o == nil || o.err != nil || o.at != 0 {
					t.Errorf("%s: %+v", name, o)
				}
			}
		}
	})
}

func TestFaultyHasTheAbilitiesOfItsEngine(t *testing.T) {
	t.Parallel()
	none := func(drivertest.Op) drivertest.Fault { return drivertest.Fault{} }
	inner := memory.New()
	want := inner.Abilities()
	want.Local = false
	if got := drivertest.NewFaulty(inner, none).Abilities(); got != want {
		t.Errorf("Abilities %+v, want %+v", got, want)
	}

	f := drivertest.NewFaulty(minimalEngine{inner}, none)
	ctx := t.Context()
	_, trySet := f.TrySet(ctx, driver.LatchSet{})
	_, countDown := f.CountDown(ctx, driver.LatchDown{})
	_, latchState := f.LatchState(ctx, "")
	_, takeAll := f.TakeAll(ctx, []driver.Request{request("owner")})
	for _, err := range []error{
		trySet, countDown, latchState,
		f.WaitLatch(ctx, "", 0),
	} {
		if !errors.Is(err, driver.ErrUnsupported) || !driver.IsPermanent(err) ||
			!strings.Contains(err.Error(), "little") {
			t.Errorf("%v, want a permanent ErrUnsupported that names the engine", err)
		}
	}
	if !errors.Is(takeAll, driver.ErrNotTogether) {
		t.Errorf("%v, want ErrNotTogether", takeAll)
	}
	for _, err := range []error{f.Downgrade(ctx, driver.Hold{}), f.ForceRelease(ctx, driver.Key{}, 1)} {
		if !errors.Is(err, driver.ErrUnsupported) || !driver.IsPermanent(err) {
			t.Errorf("%v, want a permanent ErrUnsupported", err)
		}
	}
	if f.Wanted(driver.Key{}) {
		t.Error("Wanted, by an engine that does not know")
	}
}

func TestPlanSeesEachRequest(t *testing.T) {
	t.Parallel()
	var seen []drivertest.Op
	f := drivertest.NewFaulty(voting{Engine: memory.New()}, func(op drivertest.Op) drivertest.Fault {
		seen = append(seen, op)
		return drivertest.Fault{}
	})
	ctx, r := t.Context(), request("owner")
	h := driver.Hold{Key: r.Key, Owner: r.Owner}
	latch := driver.Key{Kind: driver.Latch, Name: "latch"}
	f.Take(ctx, r)
	f.Wait(ctx, r)
	f.Downgrade(ctx, h)
	f.Renew(ctx, []driver.Renewal{{Hold: h, TTL: r.TTL}}, func(int, error) {})
	f.Release(ctx, driver.Release{Hold: h})
	f.ForceRelease(ctx, r.Key, 1)
	f.TrySet(ctx, driver.LatchSet{Name: latch.Name, ID: "set", Count: 1, TTL: time.Minute})
	f.CountDown(ctx, driver.LatchDown{Name: latch.Name, ID: "down", TTL: time.Minute})
	f.LatchState(ctx, latch.Name)
	f.WaitLatch(ctx, latch.Name, 1)
	f.List(ctx, driver.Query{})
	also := request("also")
	also.Name = "name, too"
	f.TakeAll(ctx, []driver.Request{r, also})
	f.Raise(ctx, quorumnode.Raise{Key: r.Key, Owner: "owner", Token: 1, Tokens: 1})
	f.Votes(ctx, r.Key)
	want := []drivertest.Op{
		{1, drivertest.Take, r.Key, "owner"},
		{2, drivertest.Wait, r.Key, "owner"},
		{3, drivertest.Downgrade, r.Key, "owner"},
		{4, drivertest.Renew, r.Key, "owner"},
		{5, drivertest.Release, r.Key, "owner"},
		{6, drivertest.ForceRelease, r.Key, ""},
		{7, drivertest.TrySet, latch, "set"},
		{8, drivertest.CountDown, latch, "down"},
		{9, drivertest.LatchState, latch, ""},
		{10, drivertest.WaitLatch, latch, ""},
		{11, drivertest.List, driver.Key{}, ""},
		{12, drivertest.TakeAll, r.Key, "owner"},
		{13, drivertest.Raise, r.Key, "owner"},
		{14, drivertest.Votes, r.Key, ""},
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the plan has seen\n%v, want\n%v", seen, want)
	}
	if text := want[0].String(); strings.Contains(text, "owner") || text != `#1 Take lock "name"` {
		t.Errorf("a request is shown as %s", text)
	}
}
