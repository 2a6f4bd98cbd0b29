package leasehold_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

func all(c *leasehold.Client, names ...string) func(context.Context) (*leasehold.LeaseSet, error) {
	return func(ctx context.Context) (*leasehold.LeaseSet, error) { return c.LockAll(ctx, names...) }
}

func takeAll(t *testing.T, c *leasehold.Client, names ...string) *leasehold.LeaseSet {
	t.Helper()
	set, err := c.LockAll(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// inOneStepAndNot runs a test as onBoth does, with an engine that takes several locks in one step and with one that
// does not.
func inOneStepAndNot(t *testing.T, test func(t *testing.T, engine *spy)) {
	t.Helper()
	t.Parallel()
	for name, can := range map[string]bool{"in one step": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, engine *spy) {
				engine.plain = !can
				test(t, engine)
			})
		})
	}
}

func TestLockAllTakesNamesInOrderAndOnce(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		given := []string{"c", "a", "b", "a", "c"}
		set := takeAll(t, c, given...)
		var names []string
		for _, l := range set.Leases() {
			names = append(names, l.Name())
			token, err := set.Token(l.Name())
			if err != nil || token != l.Token() {
				t.Errorf("the token of %s is %d, %v, want %d", l.Name(), token, err, l.Token())
			}
			if l.Deadline().Before(set.Deadline()) {
				t.Errorf("%s ends before the set", l.Name())
			}
		}
		want := 3
		if !e.plain {
			want = 1
		}
		if !slices.Equal(names, []string{"a", "b", "c"}) || e.sent() != want {
			t.Errorf("got %v with %d requests, want all with %d", names, e.sent(), want)
		}
		if !slices.Equal(given, []string{"c", "a", "b", "a", "c"}) {
			t.Error("the caller's slice was changed")
		}
		other := newClient(t, e)
		for _, n := range names {
			_, err := other.Mutex(n).TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
		}
		release(t, set)
		release(t, set) // again: the same result
		wantCause(t, set.Context(), leasehold.ErrReleased)
		release(t, takeAll(t, other, "b", "a", "c"))
	})
}

func TestLockAllIsAllOrNothing(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		take(t, other.Mutex("c").Lock)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := start(ctx, all(c, "a", "b", "c"))
		waiting.wantWaiting(t)
		_, err := other.Mutex("a").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		cancel()
		waiting.wantErr(t, context.Canceled)
		for _, n := range []string{"a", "b"} {
			release(t, take(t, other.Mutex(n).TryLock))
		}
	})
}

func TestTwoCallersOfTheSameNamesDoNotWaitForEver(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		var calls []*outcome[int]
		for _, caller := range []func(context.Context) (*leasehold.LeaseSet, error){
			all(c, "a", "b", "c"), all(c, "c", "b", "a"), all(newClient(t, e), "b", "c", "a"),
		} {
			calls = append(calls, start(t.Context(), func(ctx context.Context) (int, error) {
				for n := range 20 {
					set, err := caller(ctx)
					if err != nil {
						return n, err
					}
					time.Sleep(time.Millisecond)
					if err := set.Release(); err != nil {
						return n, err
					}
				}
				return 20, nil
			}))
		}
		time.Sleep(time.Minute)
		for _, o := range calls {
			o.wantValue(t)
		}
	})
}

func TestTheContextOfASetEndsWithTheFirstLoss(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			inOneStepAndNot(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				set := takeAll(t, c, "a", "b", "c")
				wantCause(t, set.Context(), nil)
				for _, l := range set.Leases() {
					if l.Name() == name {
						lose(t, e, driver.Lock, l)
					}
				}
				wantCause(t, set.Context(), leasehold.ErrLost)
				expectOnly(t, set.Release(), leasehold.ErrLost)
				release(t, takeAll(t, c, "a", "b", "c")) // the others were released
			})
		})
	}
}

func TestLockAllHasOneWaitLimitForAllNames(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithDefaults(leasehold.WaitLimit(3*time.Second)))
		other := newClient(t, e)
		held := takeAll(t, other, "a", "b")
		began := time.Now()
		waiting := start(t.Context(), all(c, "a", "b"))
		time.Sleep(2 * time.Second)
		release(t, held.Leases()[0]) // a
		<-waiting.done
		expectOnly(t, waiting.err, leasehold.ErrTimeout)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v, want 3s", took)
		}
		release(t, take(t, other.Mutex("a").TryLock))
	})
}

// A lease that is lost while the set waits for the next name ends the call. The caller's own context has not ended, and
// must not be blamed.
func TestASetThatLosesALeaseWhileItWaits(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"lost": leasehold.ErrLost, "held for too long": leasehold.ErrMaxHold} {
		t.Run(name, func(t *testing.T) {
			inOneStepAndNot(t, func(t *testing.T, e *spy) {
				var opts []leasehold.Option
				if cause == leasehold.ErrMaxHold {
					opts = append(opts, leasehold.MaxHold(10*time.Second))
				}
				c, other := newClient(t, e, leasehold.WithDefaults(opts...)), newClient(t, e)
				take(t, other.Mutex("b").Lock)
				waiting := start(t.Context(), all(c, "a", "b"))
				waiting.wantWaiting(t)
				held, err := admin.New(e).Inspect(t.Context(), "a")
				expect(t, err, nil)
				if cause == leasehold.ErrLost {
					token := held[0].Holders[0].Token
					expect(t, admin.New(e).ForceRelease(t.Context(), driver.Lock, "a", token), nil)
				}
				time.Sleep(leasehold.DefaultTTL / 2)
				waiting.wantErr(t, cause)
				if errors.Is(waiting.err, context.Canceled) {
					t.Errorf("the caller's context is blamed: %v", waiting.err)
				}
				release(t, take(t, other.Mutex("a").TryLock))
			})
		})
	}
}

func TestLockAllInsideALeaseOnOneOfTheNames(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		outer := take(t, c.Mutex("b").Lock)
		set, err := c.LockAll(outer.Context(), "c", "b", "a")
		expect(t, err, nil)
		if token, _ := set.Token("b"); token != outer.Token() {
			t.Errorf("the token of b is %d, want %d", token, outer.Token())
		}
		release(t, set)
		wantCause(t, outer.Context(), nil)
		release(t, outer)
	})
}

func TestLockAllInsideAReadLockOnOneOfTheNames(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		reader := take(t, c.RWMutex("b").RLock)
		_, err := c.LockAll(reader.Context(), "a", "b")
		expectOnly(t, err, leasehold.ErrUpgrade)
		release(t, take(t, c.Mutex("a").TryLock))
	})
}

func TestLockAllInsideALostLeaseOnOneOfTheNames(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		outer := take(t, c.Mutex("b").Lock)
		lose(t, e, driver.Lock, outer)
		_, err := c.LockAll(context.WithoutCancel(outer.Context()), "a", "b")
		expectOnly(t, err, leasehold.ErrLost)
		release(t, takeAll(t, c, "a", "b"))
	})
}
