package interop

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// maxNoticeTime is how long a waiter of leasehold may take to notice that a foreign client has unlocked. No
// message tells it, so it polls at least four times a second. The rest is for slow machines.
const maxNoticeTime = 250*time.Millisecond*3/2 + 3*time.Second

// startWaiting lets leasehold wait, and returns once it is in the queue.
func (w *fixture) startWaiting(take lockFunc) <-chan *leasehold.Lease {
	w.t.Helper()
	got := make(chan *leasehold.Lease, 1)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		l, err := take(ctx)
		if err != nil {
			w.t.Errorf("waiting: %v", err)
		}
		got <- l
	}()
	w.await("leasehold waits", func() bool {
		all, err := w.ops.List(ctx, admin.Query{Name: name})
		if err != nil {
			w.t.Fatal(err)
		}
		return len(all) == 1 && all[0].Waiting == 1
	})
	return got
}

func TestWaitersGetWhatOthersRelease(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		for mode, take := range map[string]lockFunc{
			"mutex": w.leasehold.Mutex(name).Lock, "reader": w.leasehold.RWMutex(name).RLock,
		} {
			u := w.foreignLock(longTTL)
			got := w.startWaiting(take)
			// By then it polls as seldom as it ever will.
			select {
			case <-got:
				t.Fatalf("%s: leasehold has locked what the foreign client holds", mode)
			case <-time.After(time.Second):
			}
			w.foreignUnlock(u, true)
			released := time.Now()
			l := <-got
			took := time.Since(released)
			t.Logf("%s: %s after the foreign unlock", mode, took)
			if took > maxNoticeTime {
				t.Errorf("%s: %s after the foreign unlock, want %s at most", mode, took, maxNoticeTime)
			}
			w.foreignMustBeRefused()
			w.mustRelease(l)
		}
	})
}

func TestWaitersGetWhatDeadOthersHeld(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		const ttl = 2 * time.Second
		locked := time.Now()
		w.foreignLock(ttl) // and never unlocks
		got := w.startWaiting(w.leasehold.Mutex(name).Lock)
		l := <-got
		took := time.Since(locked)
		t.Logf("%s after the foreign client took it for %s", took, ttl)
		if took < ttl || took > ttl+maxNoticeTime {
			t.Errorf("%s after the foreign client took it for %s, want %s more at most", took, ttl, maxNoticeTime)
		}
		w.foreignMustBeRefused()
		w.mustRelease(l)
	})
}

// Foreign clients may come first while leasehold waits, since they know nothing of the queue. It goes on waiting.
func TestWaitersGoOnWhenOthersComeFirst(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		u := w.foreignLock(longTTL)
		got := w.startWaiting(w.leasehold.Mutex(name).Lock)
		for range 3 {
			w.foreignUnlock(u, true)
			again, err := w.foreign(t.Context(), key, longTTL)
			if err != nil {
				t.Fatal(err)
			}
			if again == nil { // leasehold was faster
				break
			}
			u = again
			select {
			case <-got:
				t.Fatal("leasehold has locked what the foreign client holds")
			case <-time.After(500 * time.Millisecond):
			}
		}
		if _, err := u(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.mustRelease(<-got)
		w.foreignUnlock(w.foreignLock(longTTL), true)
	})
}

func TestListingShowsForeignHolders(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		w.foreignLock(longTTL)
		all, err := w.ops.List(t.Context(), admin.Query{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 || len(all[0].Holders) != 1 {
			t.Fatalf("listed: %+v", all)
		}
		value, ttl := w.value()
		h := all[0].Holders[0]
		if h.Token != 0 || h.TTL < ttl || h.TTL > longTTL || h.Age >= 0 {
			t.Errorf("holder %+v, the ttl of the key is %s", h, ttl)
		}
		if h.Holder == value {
			t.Errorf("the listing shows the secret value %s", value)
		}
	})
}

func TestForceTakesTheLockAwayFromForeignHolders(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		u := w.foreignLock(longTTL)
		if err := w.ops.ForceRelease(t.Context(), driver.Lock, name, 0); err != nil {
			t.Fatal(err)
		}
		l := w.mustLock(w.leasehold.Mutex(name).TryLock)
		w.foreignUnlock(u, false)
		w.mustRelease(l)
	})
}
