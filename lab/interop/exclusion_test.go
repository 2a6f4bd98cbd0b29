package interop

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestWhatLeaseholdHoldsIsHeldForOthers(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		m := w.leasehold.RWMutex(name)
		for mode, take := range map[string]lockFunc{
			"Mutex":         w.leasehold.Mutex(name).Lock,
			"Mutex, once":   w.leasehold.Mutex(name).TryLock,
			"writer":        m.Lock,
			"reader":        m.RLock,
			"reader, once":  m.TryRLock,
			"writer, again": m.TryLock,
		} {
			l := w.mustLock(take)
			w.foreignMustBeRefused()
			w.mustRelease(l)
			w.foreignUnlock(w.foreignLock(longTTL), true)
			if t.Failed() {
				t.Fatalf("with the %s", mode)
			}
		}
	})
}

func TestWhatOthersHoldIsHeldForLeasehold(t *testing.T) {
	forEachClient(t, func(_ *testing.T, w *fixture) {
		mutex, rw := w.leasehold.Mutex(name), w.leasehold.RWMutex(name)
		u := w.foreignLock(longTTL)
		w.mustBeRefused(mutex.TryLock)
		w.mustBeRefused(rw.TryLock)
		w.mustBeRefused(rw.TryRLock)
		w.foreignUnlock(u, true)
		w.mustRelease(w.mustLock(rw.TryRLock))
		w.mustRelease(w.mustLock(mutex.TryLock))
	})
}

func TestTheLastReaderLetsOthersIn(t *testing.T) {
	forEachClient(t, func(_ *testing.T, w *fixture) {
		m := w.leasehold.RWMutex(name)
		first, second := w.mustLock(m.RLock), w.mustLock(m.RLock)
		w.foreignMustBeRefused()
		w.mustRelease(first)
		w.foreignMustBeRefused()
		w.mustRelease(second)
		w.foreignUnlock(w.foreignLock(longTTL), true)
	})
}

func TestADowngradedWriterExcludesOthers(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		l := w.mustLock(w.leasehold.RWMutex(name).Lock)
		if err := l.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.foreignMustBeRefused()
		w.mustRelease(l)
		w.foreignUnlock(w.foreignLock(longTTL), true)
	})
}

// A lock with AtLeast excludes others after its release, too.
func TestWhatIsHeldAtLeastSoLongIsHeldForOthers(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		const least = 1500 * time.Millisecond
		m := w.leasehold.RWMutex(name, leasehold.AtLeast(least), leasehold.TTL(longTTL))
		for _, take := range []lockFunc{m.Lock, m.RLock} {
			began := time.Now()
			l := w.mustLock(take)
			granted := time.Now()
			w.mustRelease(l)
			w.foreignMustBeRefused()
			w.awaitFree()
			if took := time.Since(granted); took > least+2*time.Second {
				t.Errorf("taken for %s, want about %s", took, least)
			}
			w.foreignUnlock(w.foreignLock(longTTL), true)
			if took := time.Since(began); took < least {
				t.Errorf("free after %s, want at least %s", took, least)
			}
		}
	})
}

// A lease that is renewed excludes others after its first ttl.
func TestRenewedLeasesStayHeldForOthers(t *testing.T) {
	forEachClient(t, func(t *testing.T, w *fixture) {
		const ttl = 3 * time.Second
		for _, take := range []lockFunc{
			w.leasehold.Mutex(name, leasehold.TTL(ttl)).Lock,
			w.leasehold.RWMutex(name, leasehold.TTL(ttl)).RLock,
		} {
			l := w.mustLock(take)
			first := l.Deadline()
			w.await("the lease has been renewed twice",
				func() bool { return l.Deadline().After(first.Add(ttl/2)) && time.Now().After(first) })
			w.foreignMustBeRefused()
			w.mustRelease(l)
			w.foreignUnlock(w.foreignLock(longTTL), true)
		}
	})
}
