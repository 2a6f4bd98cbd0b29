package leasehold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// wantFree expects that the engine has nothing of a name.
func wantFree(t *testing.T, e *spy, name string) {
	t.Helper()
	all, err := e.Engine.List(t.Context(), driver.Query{Name: name, Queue: true})
	if err != nil || len(all) > 0 {
		t.Errorf("the engine still has %+v, %v", all, err)
	}
}

func TestALingeringLockIsTakenAgainWithoutARequest(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.Linger(time.Second))
		var last uint64
		for range 50 {
			lease := take(t, m.Lock)
			if lease.Token() <= last {
				t.Fatalf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			wantCause(t, lease.Context(), nil)
			release(t, lease)
			wantCause(t, lease.Context(), leasehold.ErrReleased)
			time.Sleep(900 * time.Millisecond) // Linger counts from the latest release
		}
		if takes, releases := e.sent("Take"), e.sent("Release"); takes != 1 || releases != 0 {
			t.Errorf("%d takes and %d releases were sent, want 1 and 0", takes, releases)
		}
		if e.sent("Renew") < 4 {
			t.Errorf("in 45 s a lease of 30 s was renewed %d times", e.sent("Renew"))
		}
		time.Sleep(time.Second)
		wantFree(t, e, "order")
	})
}

func TestAnotherClientRecallsAnIdleLock(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e), newClient(t, e)
		lingering := here.Mutex("order", leasehold.Linger(time.Hour))
		for name, ask := range map[string]asker{
			"Lock":                  there.Mutex("order").Lock,
			"TryLock":               there.Mutex("order").TryLock,
			"RLock":                 there.RWMutex("order").RLock,
			"TryRLock":              there.RWMutex("order").TryRLock,
			"Lock with Linger":      there.Mutex("order", leasehold.Linger(time.Second)).Lock,
			"RLock of this client":  here.RWMutex("order").RLock,
			"a try of this client":  here.RWMutex("order").TryRLock,
			"another ttl":           here.Mutex("order", leasehold.TTL(time.Minute)).Lock,
			"another label, a try":  here.Mutex("order", leasehold.Label("x")).TryLock,
			"a set of this client":  lockBoth(here),
			"a set of another":      lockBoth(there),
			"an election elsewhere": campaign(there.Election("order"), "me"),
		} {
			idle := take(t, lingering.Lock)
			release(t, idle)
			began := time.Now()
			lease := take(t, ask)
			if took := time.Since(began); took > 0 {
				t.Errorf("%s had to wait for %v", name, took)
			}
			if lease.Token() <= idle.Token() {
				t.Errorf("%s: token %d follows %d", name, lease.Token(), idle.Token())
			}
			release(t, lease)
			time.Sleep(2 * time.Second)
			wantFree(t, e, "order")
		}
	})
}

// A try that has asked the holder to let go, and gets no answer, ends as held: the engine has said so before. It
// neither asks again nor leaves anything behind.
func TestATryIsOverWhenItsRecallFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newSpy()
		e.can.Local = false
		here, there := newClient(t, e), newClient(t, e)
		for what, lose := range map[string]func(func(call) error){"request": e.fail, "reply": e.loseReplies} {
			release(t, take(t, here.Mutex("order", leasehold.Linger(time.Hour)).Lock))
			before := e.sent("Take")
			lose(func(c call) error {
				if c.method == "Take" && e.sent("Take") > before+1 {
					return errors.New("lost on purpose")
				}
				return nil
			})
			_, err := there.Mutex("order").TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
			if n := e.sent("Take") - before; n != 2 {
				t.Errorf("a lost %s: %d takes were sent, want 2", what, n)
			}
			lose(nil)
			time.Sleep(time.Minute)
			release(t, take(t, there.Mutex("order").TryLock))
		}
	})
}

// lockBoth locks two names at once, and returns the lease of the second.
func lockBoth(c *leasehold.Client) asker {
	return func(ctx context.Context) (*leasehold.Lease, error) {
		set, err := c.LockAll(ctx, "a", "order")
		if err != nil {
			return nil, err
		}
		if err := set.Leases()[0].Release(); err != nil {
			return nil, err
		}
		return set.Leases()[1], nil
	}
}

// A holder that is asked for its lock while it uses it goes on, and lets go when it releases.
func TestALockInUseIsNotRecalled(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lingering := newClient(t, e).Mutex("order", leasehold.Linger(time.Hour))
		other := newClient(t, e).Mutex("order")
		for range 3 {
			lease := take(t, lingering.Lock)
			began := time.Now()
			_, err := other.TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
			if took := time.Since(began); took > 0 {
				t.Errorf("the holder said that it used the lock, and the try waited for %v", took)
			}
			waiter := start(t.Context(), other.Lock)
			waiter.wantWaiting(t)
			wantCause(t, lease.Context(), nil)
			release(t, lease)
			theirs := waiter.wantValue(t)
			if theirs.Token() <= lease.Token() {
				t.Errorf("token %d follows %d", theirs.Token(), lease.Token())
			}
			release(t, theirs)
		}
	})
}

// Who was asked for a lock while it used it does not keep it after the release, even if nobody waits any more.
func TestARecalledLockDoesNotLinger(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		lease := take(t, newClient(t, e).Mutex("order", leasehold.Linger(time.Hour)).Lock)
		_, err := newClient(t, e).Mutex("order").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		release(t, lease)
		wantFree(t, e, "order")
	})
}

// A holder without an answer, as one that stands still, keeps nobody for longer than a try may take.
func TestATryDoesNotWaitForAHolderWithoutAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Local = false
		take(t, func(ctx context.Context) (*leasehold.Lease, error) {
			r := driver.Request{
				Key: driver.Key{Kind: driver.Lock, Name: "order"}, Owner: "still", Size: 1, Weight: 1, Tokens: 1,
				TTL: time.Minute, Recall: func() bool { return false },
			}
			if _, err := e.Engine.Take(ctx, r); err != nil {
				t.Fatal(err)
			}
			return newClient(t, e).Mutex("another").Lock(ctx)
		})
		began := time.Now()
		_, err := newClient(t, e).Mutex("order").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("the try took %v", took)
		}
		time.Sleep(time.Minute)
		wantFree(t, e, "order")
	})
}

func TestALeaseThatIsLostWhileIdleIsNotUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var lost lostCounter
		m := newClient(t, e, leasehold.WithObserver(&lost)).Mutex("order", leasehold.Linger(time.Hour))
		for name, lose := range map[string]func(token uint64){
			"taken away": func(token uint64) {
				if err := e.ForceRelease(t.Context(), driver.Key{Kind: driver.Lock, Name: "order"}, token); err != nil {
					t.Fatal(err)
				}
				time.Sleep(leasehold.DefaultTTL / 2)
			},
			"not renewed": func(uint64) {
				e.fail(func(call) error { return errors.New("down") })
				time.Sleep(leasehold.DefaultTTL)
				e.fail(nil)
				time.Sleep(time.Minute) // the clean-up
			},
			"hardly valid any more": func(uint64) {
				e.fail(func(call) error { return errors.New("down") })
				time.Sleep(leasehold.DefaultTTL * 3 / 4)
				e.fail(nil)
			},
		} {
			lease := take(t, m.Lock)
			release(t, lease)
			lose(lease.Token())
			before := e.sent("Take")
			again := take(t, m.Lock)
			if e.sent("Take") != before+1 {
				t.Errorf("%s: the engine was not asked again", name)
			}
			if left := time.Until(again.Deadline()); left < leasehold.DefaultTTL*9/10 {
				t.Errorf("%s: the next lease lasts for %v", name, left)
			}
			if again.Token() <= lease.Token() {
				t.Errorf("%s: token %d follows %d", name, again.Token(), lease.Token())
			}
			release(t, again)
			time.Sleep(time.Hour + time.Second)
			wantFree(t, e, "order")
		}
		if lost != 0 {
			t.Errorf("%d leases that nobody had were reported as lost", lost)
		}
	})
}

type lostCounter int

func (n *lostCounter) ObserveLost(leasehold.Lost) { *n++ }

func TestCloseReleasesIdleLocks(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := leasehold.New(e)
		release(t, take(t, c.Mutex("order", leasehold.Linger(time.Hour)).Lock))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wantFree(t, e, "order")
		_, err := c.Mutex("order", leasehold.Linger(time.Hour)).Lock(t.Context())
		expect(t, err, leasehold.ErrClosed)
	})
}

// Waiters of this process are served by turns, and waiters elsewhere as soon as they ask.
func TestAnIdleLockIsHandedOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.Linger(time.Hour))
		lease := take(t, m.Lock)
		waiting := queueUp(t, m.Lock, m.Lock, m.Lock)
		time.Sleep(time.Second) // longer than hand-overs without recall may last
		for _, w := range waiting {
			release(t, lease)
			lease = w.wantValue(t)
		}
		if e.sent("Take") != 1 {
			t.Errorf("%d takes were sent", e.sent("Take"))
		}
		mine := start(t.Context(), m.Lock)
		mine.wantWaiting(t)
		theirs := start(t.Context(), newClient(t, e).Mutex("order").Lock)
		theirs.wantWaiting(t)
		release(t, lease)
		release(t, theirs.wantValue(t))
		release(t, mine.wantValue(t))
	})
}

func TestTokensOfALingeringLockRunOut(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.Linger(time.Hour))
		var last uint64
		for range 64 + 128 + 256 + 1 {
			lease := take(t, m.Lock)
			if lease.Token() <= last {
				t.Fatalf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			release(t, lease)
		}
		if takes, releases := e.sent("Take"), e.sent("Release"); takes != 4 || releases != 3 {
			t.Errorf("%d takes and %d releases were sent, want 4 and 3", takes, releases)
		}
		if n := e.last(t, "Take").tokens; n != 512 {
			t.Errorf("the last take asks for %d tokens", n)
		}
	})
}

// A caller that gives up at the moment when it finds the idle lock leaves it for the next.
func TestACallerThatGivesUpLeavesAnIdleLock(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var whenWaiting whenWaiting
		m := newClient(t, e, leasehold.WithObserver(&whenWaiting)).Mutex("order", leasehold.Linger(time.Hour))
		for name, ask := range map[string]asker{"Lock": m.Lock, "TryLock": m.TryLock} {
			lease := take(t, m.Lock)
			ctx, cancel := context.WithCancel(t.Context())
			whenWaiting = func() { release(t, lease); cancel() }
			_, err := m.Lock(ctx)
			expect(t, err, context.Canceled)
			whenWaiting = nil
			limited, end := context.WithTimeout(t.Context(), time.Second)
			next, err := ask(limited)
			if end(); err != nil {
				t.Fatalf("%s after a caller that gave up: %v", name, err)
			}
			release(t, next)
			if e.sent("Take") != 1 {
				t.Fatalf("%s: %d takes were sent", name, e.sent("Take"))
			}
		}
		whenWaiting = nil
		time.Sleep(2 * time.Hour)
		wantFree(t, e, "order")
	})
}

// whenWaiting is called when a call begins to wait.
type whenWaiting func()

func (f *whenWaiting) ObserveWait(leasehold.Waiting) {
	if *f != nil {
		(*f)()
	}
}

func TestLocksThatAreUnlikeOthersDoNotLinger(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithDefaults(leasehold.Linger(time.Hour)))
		for name, ask := range map[string]asker{
			"NoRenew":   c.Mutex("order", leasehold.NoRenew()).Lock,
			"MaxHold":   c.Mutex("order", leasehold.MaxHold(time.Minute)).Lock,
			"RLock":     c.RWMutex("order").RLock,
			"Campaign":  campaign(c.Election("order"), "me"),
			"a permit":  permits(c.Semaphore("order", 3), 1),
			"two locks": lockBoth(c),
		} {
			release(t, take(t, ask))
			all, err := e.Engine.List(t.Context(), driver.Query{})
			if err != nil || len(all) > 0 {
				t.Errorf("%s: the engine still has %+v, %v", name, all, err)
			}
		}
	})
}

func TestLingerNeedsAnEngineThatRecalls(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Recalls = false
		_, err := newClient(t, e).Mutex("order", leasehold.Linger(time.Hour)).Lock(t.Context())
		expect(t, err, leasehold.ErrUnsupported)
		_, err = newClient(t, e).Mutex("order", leasehold.Linger(0)).Lock(t.Context())
		expect(t, err, leasehold.ErrInvalid)
		if e.sent() > 0 {
			t.Error("a request was sent")
		}
	})
}
