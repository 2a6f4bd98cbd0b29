package leasehold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
)

// passLeaving lets the time pass for which a later release is kept back.
func passLeaving() {
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

func TestReleaseLaterDoesNotWait(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Local = false
		c := newClient(t, e)
		e.fail(func(c call) error {
			if c.method == "Release" {
				time.Sleep(time.Second)
			}
			return nil
		})
		for name, ask := range map[string]asker{
			"Lock":     c.Mutex("order").Lock,
			"RLock":    c.RWMutex("order").RLock,
			"a permit": permits(c.Semaphore("order", 3), 2),
		} {
			lease := take(t, ask)
			ctx, began := lease.Context(), time.Now()
			lease.ReleaseLater()
			if took := time.Since(began); took > 0 {
				t.Errorf("%s: ReleaseLater took %v", name, took)
			}
			wantCause(t, ctx, leasehold.ErrReleased)
			expect(t, lease.Err(), leasehold.ErrReleased)
			release(t, lease) // changes nothing
			time.Sleep(2 * time.Second)
			wantFree(t, e, "order")
		}
	})
}

// The next call for the same name comes after the release, whoever sends that.
func TestACallAfterReleaseLater(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		var last uint64
		for name, ask := range map[string]asker{
			"Lock": c.Mutex("order").Lock, "TryLock": c.Mutex("order").TryLock, "RLock": c.RWMutex("order").RLock,
			"TryLock elsewhere, after the release": func() asker {
				there := newClient(t, e).Mutex("order")
				return func(ctx context.Context) (*leasehold.Lease, error) {
					passLeaving()
					return there.TryLock(ctx)
				}
			}(),
		} {
			take(t, c.Mutex("order").Lock).ReleaseLater()
			lease := take(t, ask)
			if lease.Token() <= last {
				t.Errorf("%s: token %d follows %d", name, lease.Token(), last)
			}
			last = lease.Token()
			lease.ReleaseLater()
		}
		passLeaving()
		wantFree(t, e, "order")
	})
}

type releases struct{ all []leasehold.Released }

func (r *releases) ObserveRelease(e leasehold.Released) { r.all = append(r.all, e) }

func TestAnObserverIsToldOfALaterReleaseThatFailed(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen releases
		m := newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order")
		e.fail(func(c call) error {
			if c.method == "Release" {
				return errors.New("down")
			}
			return nil
		})
		lease := take(t, m.Lock)
		time.Sleep(time.Second)
		lease.ReleaseLater()
		passLeaving()
		if len(seen.all) != 1 || !errors.Is(seen.all[0].Err, leasehold.ErrUnknown) || seen.all[0].Held != time.Second ||
			seen.all[0].Token != lease.Token() {
			t.Errorf("the observer was told %+v", seen.all)
		}
		e.fail(nil)
		time.Sleep(time.Minute) // the clean-up repeats it
		wantFree(t, e, "order")
	})
}

func TestReleaseLaterOfALeaseThatHasEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lease := take(t, newClient(t, e).Mutex("order", leasehold.NoRenew()).Lock)
		time.Sleep(time.Minute)
		lease.ReleaseLater()
		expect(t, lease.Release(), leasehold.ErrLost)
	})
}

func TestCloseSendsWhatIsToBeReleased(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := leasehold.New(e)
		var leases []*leasehold.Lease
		for _, name := range []string{"a", "b", "c"} {
			leases = append(leases, take(t, c.Mutex(name).Lock))
		}
		for _, l := range leases {
			l.ReleaseLater()
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := e.sent("Release"); n != 3 {
			t.Errorf("%d releases were sent", n)
		}
		leases[0].ReleaseLater()
		after := leasehold.New(e)
		lease := take(t, after.Mutex("a").Lock)
		after.Close()
		lease.ReleaseLater()
		wantFree(t, e, "a")
	})
}

// Waiters of this process get the lock as after a release.
func TestReleaseLaterHandsOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		lease := take(t, m.Lock)
		for _, w := range queueUp(t, m.Lock, m.Lock, m.Lock) {
			lease.ReleaseLater()
			lease = w.wantValue(t)
		}
		lease.ReleaseLater()
		passLeaving()
		wantFree(t, e, "order")
	})
}
