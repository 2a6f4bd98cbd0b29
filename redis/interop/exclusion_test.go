package interop

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestWhatLeaseholdHoldsIsHeldForOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.leasehold.RWMutex(name)
		for mode, take := range map[string]taker{
			"Mutex":         w.leasehold.Mutex(name).Lock,
			"Mutex, once":   w.leasehold.Mutex(name).TryLock,
			"writer":        m.Lock,
			"reader":        m.RLock,
			"reader, once":  m.TryRLock,
			"writer, again": m.TryLock,
		} {
			l := w.takes(take)
			w.foreignIsRefused()
			w.releases(l)
			w.foreignUnlocks(w.foreignLocks(long), true)
			if t.Failed() {
				t.Fatalf("with the %s", mode)
			}
		}
	})
}

func TestWhatOthersHoldIsHeldForLeasehold(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		mutex, rw := w.leasehold.Mutex(name), w.leasehold.RWMutex(name)
		u := w.foreignLocks(long)
		w.isRefused(mutex.TryLock)
		w.isRefused(rw.TryLock)
		w.isRefused(rw.TryRLock)
		w.foreignUnlocks(u, true)
		w.releases(w.takes(rw.TryRLock))
		w.releases(w.takes(mutex.TryLock))
	})
}

func TestTheLastReaderLetsOthersIn(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		m := w.leasehold.RWMutex(name)
		first, second := w.takes(m.RLock), w.takes(m.RLock)
		w.foreignIsRefused()
		w.releases(first)
		w.foreignIsRefused()
		w.releases(second)
		w.foreignUnlocks(w.foreignLocks(long), true)
	})
}

func TestADowngradedWriterExcludesOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		l := w.takes(w.leasehold.RWMutex(name).Lock)
		if err := l.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.foreignIsRefused()
		w.releases(l)
		w.foreignUnlocks(w.foreignLocks(long), true)
	})
}

// A lock that is to be held at least for some time excludes others after its release, too.
func TestWhatIsHeldAtLeastSoLongIsHeldForOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const least = 1500 * time.Millisecond
		m := w.leasehold.RWMutex(name, leasehold.AtLeast(least), leasehold.TTL(long))
		for _, take := range []taker{m.Lock, m.RLock} {
			began := time.Now()
			l := w.takes(take)
			granted := time.Now()
			w.releases(l)
			w.foreignIsRefused()
			w.awaitFree()
			if took := time.Since(granted); took > least+2*time.Second {
				t.Errorf("taken for %s, want about %s", took, least)
			}
			w.foreignUnlocks(w.foreignLocks(long), true)
			if took := time.Since(began); took < least {
				t.Errorf("free after %s, want at least %s", took, least)
			}
		}
	})
}

// A lease that is renewed is not the other's after its first ttl.
func TestRenewedLeasesStayHeldForOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const ttl = 3 * time.Second
		for _, take := range []taker{w.leasehold.Mutex(name, leasehold.TTL(ttl)).Lock, w.leasehold.RWMutex(name, leasehold.TTL(ttl)).RLock} {
			l := w.takes(take)
			first := l.Deadline()
			w.await("the lease has been renewed twice", func() bool { return l.Deadline().After(first.Add(ttl/2)) && time.Now().After(first) })
			w.foreignIsRefused()
			w.releases(l)
			w.foreignUnlocks(w.foreignLocks(long), true)
		}
	})
}
