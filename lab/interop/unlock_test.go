package interop

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestLateForeignUnlocksTouchNothingOfOurs(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		m := w.leasehold.RWMutex(name)
		for mode, take := range map[string]lockFunc{"writer": m.Lock, "reader": m.RLock} {
			late := w.foreignLock(time.Second)
			l := w.mustLock(take) // waits until the ttl of the foreign client has passed
			before, _ := w.value()
			w.foreignUnlock(late, false)
			if after, ttl := w.value(); after != before || after == "" || ttl <= 0 {
				t.Errorf("%s: the key was %q and is %q for %s", mode, before, after, ttl)
			}
			if err := l.Extend(t.Context(), leasehold.DefaultTTL); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			w.foreignMustBeRefused()
			w.mustRelease(l)
		}
	})
}

func TestOurLateReleaseTouchesNothingOfOthers(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		m := w.leasehold.RWMutex(name, leasehold.TTL(time.Second), leasehold.NoRenew())
		for mode, take := range map[string]lockFunc{"writer": m.Lock, "reader": m.RLock} {
			l := w.mustLock(take)
			w.awaitFree()
			u := w.foreignLock(longTTL)
			before, _ := w.value()
			if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
				t.Errorf("%s: the late release: %v, want %v", mode, err, leasehold.ErrLost)
			}
			if after, ttl := w.value(); after != before || ttl < longTTL/2 {
				t.Errorf("%s: the key was %q and is %q for %s", mode, before, after, ttl)
			}
			w.foreignUnlock(u, true)
		}
	})
}

// A holder whose key was deleted by an operator, and taken by somebody else, loses its lease at the next renewal.
func TestRenewalsTouchNothingOfOthers(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		l := w.mustLock(w.leasehold.Mutex(name, leasehold.TTL(600*time.Millisecond)).Lock)
		if err := w.server.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		u := w.foreignLock(longTTL)
		before, _ := w.value()
		select {
		case <-l.Context().Done():
		case <-time.After(10 * time.Second):
			t.Error("the lease is not lost, although somebody else has the lock")
		}
		if after, ttl := w.value(); after != before || ttl < longTTL/2 {
			t.Errorf("the key was %q and is %q for %s", before, after, ttl)
		}
		if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
			t.Errorf("the late release: %v, want %v", err, leasehold.ErrLost)
		}
		w.foreignUnlock(u, true)
	})
}
