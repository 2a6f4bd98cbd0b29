package interop

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

// soon is how long a waiter of leasehold may take to notice that a foreign client has unlocked, which tells nobody: it looks
// four times a second at least. The rest is for slow machines.
const soon = 250*time.Millisecond*3/2 + 3*time.Second

// waits lets leasehold wait, and returns once it is in the queue.
func (w *world) waits(take taker) <-chan *leasehold.Lease {
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
		all, err := w.leasehold.List(ctx, leasehold.Query{Name: name})
		if err != nil {
			w.t.Fatal(err)
		}
		return len(all) == 1 && all[0].Waiting == 1
	})
	return got
}

func TestWaitersGetWhatOthersRelease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for mode, take := range map[string]taker{"mutex": w.leasehold.Mutex(name).Lock, "reader": w.leasehold.RWMutex(name).RLock} {
			u := w.foreignLocks(long)
			got := w.waits(take)
			// It has looked for so long that it looks as seldom as it ever will.
			select {
			case <-got:
				t.Fatalf("%s: leasehold has locked what the foreign client holds", mode)
			case <-time.After(time.Second):
			}
			w.foreignUnlocks(u, true)
			released := time.Now()
			l := <-got
			took := time.Since(released)
			t.Logf("%s: %s after the foreign unlock", mode, took)
			if took > soon {
				t.Errorf("%s: %s after the foreign unlock, want %s at most", mode, took, soon)
			}
			w.foreignIsRefused()
			w.releases(l)
		}
	})
}

func TestWaitersGetWhatDeadOthersHeld(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const ttl = 2 * time.Second
		locked := time.Now()
		w.foreignLocks(ttl) // and nobody will unlock
		got := w.waits(w.leasehold.Mutex(name).Lock)
		l := <-got
		took := time.Since(locked)
		t.Logf("%s after the foreign client took it for %s", took, ttl)
		if took < ttl || took > ttl+soon {
			t.Errorf("%s after the foreign client took it for %s, want %s more at most", took, ttl, soon)
		}
		w.foreignIsRefused()
		w.releases(l)
	})
}

// Others may come first while leasehold waits: nothing tells them of the queue. It goes on waiting.
func TestWaitersWaitForThoseWhoComeBetween(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := w.foreignLocks(long)
		got := w.waits(w.leasehold.Mutex(name).Lock)
		for range 3 {
			w.foreignUnlocks(u, true)
			again, err := w.foreign(t.Context(), key, long)
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
		w.releases(<-got)
		w.foreignUnlocks(w.foreignLocks(long), true)
	})
}

func TestListingShowsForeignHolders(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.foreignLocks(long)
		all, err := w.leasehold.List(t.Context(), leasehold.Query{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 || len(all[0].Holders) != 1 {
			t.Fatalf("listed: %+v", all)
		}
		value, ttl := w.value()
		h := all[0].Holders[0]
		if h.Token != 0 || h.TTL < ttl || h.TTL > long || h.Age >= 0 {
			t.Errorf("holder %+v, the ttl of the key is %s", h, ttl)
		}
		if h.Holder == value {
			t.Errorf("the listing shows the secret value %s", value)
		}
	})
}

func TestForceTakesTheLockAwayFromForeignHolders(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := w.foreignLocks(long)
		if err := w.leasehold.ForceRelease(t.Context(), leasehold.KindLock, name, 0); err != nil {
			t.Fatal(err)
		}
		l := w.takes(w.leasehold.Mutex(name).TryLock)
		w.foreignUnlocks(u, false)
		w.releases(l)
	})
}
