package interop

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestLateForeignUnlocksTouchNothingOfOurs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.leasehold.RWMutex(name)
		for mode, take := range map[string]taker{"writer": m.Lock, "reader": m.RLock} {
			late := w.foreignLocks(time.Second)
			l := w.takes(take) // waits until the other's ttl has passed
			before, _ := w.value()
			w.foreignUnlocks(late, false)
			if after, ttl := w.value(); after != before || after == "" || ttl <= 0 {
				t.Errorf("%s: the key was %q and is %q for %s", mode, before, after, ttl)
			}
			if err := l.Extend(t.Context(), leasehold.DefaultTTL); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			w.foreignIsRefused()
			w.releases(l)
		}
	})
}

func TestOurLateReleaseTouchesNothingOfOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.leasehold.RWMutex(name, leasehold.TTL(time.Second), leasehold.NoRenew())
		for mode, take := range map[string]taker{"writer": m.Lock, "reader": m.RLock} {
			l := w.takes(take)
			w.awaitFree()
			u := w.foreignLocks(long)
			before, _ := w.value()
			if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
				t.Errorf("%s: the late release: %v, want %v", mode, err, leasehold.ErrLost)
			}
			if after, ttl := w.value(); after != before || ttl < long/2 {
				t.Errorf("%s: the key was %q and is %q for %s", mode, before, after, ttl)
			}
			w.foreignUnlocks(u, true)
		}
	})
}

// A holder whose key was deleted by an operator, and taken by somebody else, loses its lease at the next renewal.
func TestRenewalsTouchNothingOfOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.takes(w.leasehold.Mutex(name, leasehold.TTL(600*time.Millisecond)).Lock)
		if err := w.server.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		u := w.foreignLocks(long)
		before, _ := w.value()
		select {
		case <-l.Context().Done():
		case <-time.After(10 * time.Second):
			t.Error("the lease is not lost, although somebody else has the lock")
		}
		if after, ttl := w.value(); after != before || ttl < long/2 {
			t.Errorf("the key was %q and is %q for %s", before, after, ttl)
		}
		if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
			t.Errorf("the late release: %v, want %v", err, leasehold.ErrLost)
		}
		w.foreignUnlocks(u, true)
	})
}
