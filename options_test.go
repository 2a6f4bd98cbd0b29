package leasehold_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// wantAround expects that a moment is about that far from now.
func wantAround(t *testing.T, moment time.Time, want time.Duration) {
	t.Helper()
	if got := time.Until(moment); got < want-10*time.Millisecond || got > want+10*time.Millisecond {
		t.Errorf("it is %v away, want %v", got, want)
	}
}

func TestMaxHoldEndsALease(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		m := c.Mutex("n", leasehold.MaxHold(time.Minute))
		lease := take(t, m.Lock)
		began := time.Now()
		waiting := start(t.Context(), newClient(t, e).Mutex("n").Lock)
		time.Sleep(50 * time.Second)
		wantAround(t, lease.Deadline(), 10*time.Second)
		expect(t, lease.Extend(t.Context(), time.Hour), nil)
		wantAround(t, lease.Deadline(), 10*time.Second) // no extension goes further

		<-lease.Context().Done()
		wantAround(t, began, -time.Minute)
		wantCause(t, lease.Context(), leasehold.ErrMaxHold)
		waiting.wantValue(t) // the lock was released at once
		expectOnly(t, lease.Release(), leasehold.ErrMaxHold)
		expectOnly(t, lease.Extend(t.Context(), time.Minute), leasehold.ErrMaxHold)
		if l := one[leasehold.Lost](t, &seen); l.Cause != leasehold.ErrMaxHold || l.Held < 59*time.Second {
			t.Errorf("got %+v", l)
		}
	})
}

func TestAReleaseBeforeMaxHold(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("n", leasehold.MaxHold(time.Minute))
		for range 3 { // each lease has its own time
			lease := take(t, m.Lock)
			time.Sleep(50 * time.Second)
			release(t, lease)
		}
	})
}

func TestAtLeastKeepsTheNameTaken(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"released at once": 0, "released later": 40 * time.Second,
		"released after that": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				const atLeast = time.Minute // longer than the ttl
				c, other := newClient(t, e), newClient(t, e)
				began := time.Now()
				lease := take(t, c.Mutex("job", leasehold.AtLeast(atLeast)).Lock)
				time.Sleep(after)
				release(t, lease)
				wantCause(t, lease.Context(), leasehold.ErrReleased)
				if after < atLeast {
					for _, c := range []*leasehold.Client{c, other} {
						_, err := c.Mutex("job").TryLock(t.Context())
						expect(t, err, leasehold.ErrHeld)
					}
				}
				local, remote := start(t.Context(), c.Mutex("job").Lock), start(t.Context(), other.Mutex("job").Lock)
				time.Sleep(time.Until(began.Add(max(atLeast, after))))
				if !local.settle() {
					local, remote = remote, local
				}
				release(t, local.wantValue(t))
				release(t, remote.wantValue(t))
			})
		})
	}
}

func TestAtLeastSurvivesClose(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		take(t, c.Mutex("job", leasehold.AtLeast(time.Minute)).Lock)
		expect(t, c.Close(), nil)
		m := newClient(t, e).Mutex("job")
		_, err := m.TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		time.Sleep(time.Minute)
		take(t, m.TryLock)
	})
}

func TestNoRenewEndsAtTheFirstDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("n", leasehold.NoRenew(), leasehold.TTL(10*time.Second))
		lease := take(t, m.Lock)
		deadline := lease.Deadline()
		<-lease.Context().Done()
		wantAround(t, deadline, 0)
		wantCause(t, lease.Context(), leasehold.ErrLost)
		if e.sent("Renew") != 0 {
			t.Error("it was renewed")
		}
		expectOnly(t, lease.Release(), leasehold.ErrLost)
		time.Sleep(time.Second)
		take(t, m.TryLock)
	})
}

func TestExtendMakesALeaseLast(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("n", leasehold.NoRenew(), leasehold.TTL(10*time.Second))
		lease := take(t, m.Lock)
		time.Sleep(5 * time.Second)
		expect(t, lease.Extend(t.Context(), 10*time.Second), nil)
		wantAround(t, lease.Deadline(), 10*time.Second-102*time.Millisecond)
		expect(t, lease.Extend(t.Context(), time.Second), nil) // never shortens
		wantAround(t, lease.Deadline(), 10*time.Second-102*time.Millisecond)
		expect(t, lease.Extend(t.Context(), time.Hour), nil)
		time.Sleep(59 * time.Minute)
		wantCause(t, lease.Context(), nil)
		_, err := newClient(t, e).Mutex("n").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		release(t, lease)
		expectOnly(t, lease.Extend(t.Context(), time.Hour), leasehold.ErrReleased)
	})
}

// A long extension survives an outage that the ordinary ttl would not.
func TestExtendSurvivesAnOutage(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lease := take(t, newClient(t, e).Mutex("n").Lock)
		expect(t, lease.Extend(t.Context(), 10*time.Minute), nil)
		e.fail(func(call) error { return errLost })
		time.Sleep(9 * time.Minute)
		wantCause(t, lease.Context(), nil)
		e.fail(nil)
		time.Sleep(9 * time.Minute)
		wantCause(t, lease.Context(), nil)
		release(t, lease)
	})
}

func TestAnExtensionThatFails(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.Mutex("n").Lock)
		before := lease.Deadline()
		e.fail(func(call) error { return errLost })
		err := lease.Extend(t.Context(), time.Hour)
		expectOnly(t, err, leasehold.ErrUnavailable)
		expect(t, err, errLost)
		if lease.Deadline() != before {
			t.Error("the deadline has changed")
		}
		wantCause(t, lease.Context(), nil)
		e.fail(nil)

		expect(t, admin.New(e).ForceRelease(t.Context(), driver.Lock, "n", lease.Token()), nil)
		expectOnly(t, lease.Extend(t.Context(), time.Hour), leasehold.ErrLost)
		wantCause(t, lease.Context(), leasehold.ErrLost) // at once
		expectOnly(t, lease.Extend(t.Context(), time.Hour), leasehold.ErrLost)
	})
}

func TestTheTTLGoesToTheEngine(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithDefaults(leasehold.TTL(20*time.Second)))
		take(t, c.Mutex("a").Lock)
		if got := e.last(t, "Take").ttl; got != 20*time.Second {
			t.Errorf("the client's default: %v", got)
		}
		take(t, c.Mutex("b", leasehold.TTL(6*time.Second)).Lock)
		if got := e.last(t, "Take").ttl; got != 6*time.Second {
			t.Errorf("the lock's own: %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := e.last(t, "Renew"); got.name != "b" || got.ttl != 6*time.Second {
			t.Errorf("the renewal after a third of it: %+v", got)
		}
		take(t, newClient(t, e).Mutex("c").Lock)
		if got := e.last(t, "Take").ttl; got != leasehold.DefaultTTL {
			t.Errorf("the default: %v", got)
		}
		e.can.MaxTTL = 10 * time.Second
		take(t, newClient(t, e).Mutex("d").Lock)
		if got := e.last(t, "Take").ttl; got != 10*time.Second {
			t.Errorf("the default where the engine gives leases of 10s at most: %v", got)
		}
	})
}

// A wait limit does not end a try, nor a lease that was granted.
func TestAWaitLimitIsForWaitingOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("n", leasehold.WaitLimit(time.Second))
		lease := take(t, m.Lock)
		time.Sleep(10 * time.Second)
		wantCause(t, lease.Context(), nil)
		_, err := m.TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		release(t, lease)
	})
}
