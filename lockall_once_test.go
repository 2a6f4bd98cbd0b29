package leasehold_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// If not all are free, the names are waited for in order: one request for all, and then name by name.
func TestLockAllTriesOnceAndThenTakesEach(t *testing.T) {
	t.Parallel()
	for _, taken := range []string{"a", "b", "c"} {
		t.Run(taken, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c, other := newClient(t, e), newClient(t, e)
				held := take(t, other.Mutex(taken).Lock)
				waiting := start(t.Context(), all(c, "c", "b", "a"))
				waiting.wantWaiting(t)
				if n := e.sent("TakeAll"); n != 1 {
					t.Errorf("%d requests for all names, want one", n)
				}
				if n := waitingOn(t, e, taken); n != 1 {
					t.Errorf("%d wait on the engine, want one", n)
				}
				release(t, held)
				release(t, waiting.wantValue(t))
				release(t, takeAll(t, other, "a", "b", "c"))
			})
		})
	}
}

// The caller of this process that has the turn of a name would be overtaken, and a lease that is to be entered again
// would not be granted.
func TestLockAllAsksNameByNameWhereOneStepWouldBeWrong(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]func(t *testing.T, c *leasehold.Client) context.Context{
		"the first is held in this process": func(t *testing.T, c *leasehold.Client) context.Context {
			take(t, c.Mutex("a").Lock)
			return t.Context()
		},
		"the last is held in this process": func(t *testing.T, c *leasehold.Client) context.Context {
			take(t, c.Mutex("c").Lock)
			return t.Context()
		},
		"one is entered again": func(t *testing.T, c *leasehold.Client) context.Context {
			return take(t, c.RWMutex("a").RLock).Context()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				ctx, cancel := context.WithCancel(begun(t, c))
				asking := start(ctx, all(c, "a", "b", "c"))
				asking.settle()
				if n := e.sent("TakeAll"); n != 0 {
					t.Errorf("%d requests for all names", n)
				}
				cancel()
				if asking.settle(); asking.err == nil {
					release(t, asking.value)
				}
				release(t, take(t, c.Mutex("b").TryLock)) // no turn was kept
			})
		})
	}
}

func TestLockAllOfOneNameIsALock(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		release(t, takeAll(t, newClient(t, e), "a", "a"))
		if e.sent("Take") != 1 || e.sent("TakeAll") != 0 {
			t.Errorf("%d and %d requests", e.sent("Take"), e.sent("TakeAll"))
		}
	})
}

// unableTogether is an engine that cannot take these names in one step.
type unableTogether struct{ *spy }

func (unableTogether) TakeAll(context.Context, []driver.Request) ([]driver.Grant, error) {
	return nil, driver.ErrNotTogether
}

func TestLockAllTakesEachWhereNamesAreNotTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		release(t, takeAll(t, newClient(t, unableTogether{e}), "a", "b"))
		if n := e.sent("Take"); n != 2 {
			t.Errorf("%d requests for single names, want two", n)
		}
	})
}

// A caller that was refused in one step keeps its place in the local queue.
func TestLockAllKeepsItsTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		held := take(t, other.Mutex("a").Lock)
		resume := make(chan struct{})
		e.fail(func(c call) error {
			if c.method == "TakeAll" {
				<-resume
			}
			return nil
		})
		many := start(t.Context(), all(c, "a", "b"))
		many.wantWaiting(t)
		later := start(t.Context(), c.Mutex("a").Lock)
		later.wantWaiting(t)
		close(resume)
		many.wantWaiting(t)
		release(t, held)
		set := many.wantValue(t)
		later.wantWaiting(t)
		release(t, set)
		release(t, later.wantValue(t))
	})
}

// The turns end even if the caller gives up at the moment when it is refused.
func TestLockAllGivesItsTurnsBack(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		held := take(t, other.Mutex("a").Lock)
		ctx, cancel := context.WithCancel(t.Context())
		e.loseReplies(func(c call) error {
			if c.method == "TakeAll" {
				cancel()
			}
			return nil
		})
		_, err := c.LockAll(ctx, "a", "b")
		expectOnly(t, err, context.Canceled)
		release(t, held)
		release(t, take(t, c.Mutex("a").TryLock))
		release(t, take(t, c.Mutex("b").TryLock))
	})
}

// alive checks that nothing blocks names that a client has asked for in vain, in the client or on the engine.
func alive(t *testing.T, n *network, c *leasehold.Client, names ...string) {
	t.Helper()
	for _, name := range names {
		if !n.free(t, name) {
			t.Errorf("%s is left on the engine", name)
		}
		noErr(t, lock(t, c.Mutex(name)).Release())
	}
}

func TestLockAllOfUnknownOutcomeLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"reply lost":             {Break: true},
		"never answered":         {Drop: true},
		"lost on the way":        {FailBefore: true},
		"arrives late":           {Before: 3 * ttl / 2},
		"arrives late, no reply": {Before: 3 * ttl / 2, Drop: true},
		"hangs for ever":         {Hang: true}, // until nobody expects it any more
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				var seen events
				c := newClient(t, n, leasehold.WithDefaults(leasehold.TTL(ttl)),
					leasehold.WithRequestTimeout(time.Hour), leasehold.WithObserver(&seen))
				n.on(fault, drivertest.TakeAll)
				began := time.Now()
				_, err := c.LockAll(t.Context(), "b", "a")
				expectOnly(t, err, leasehold.ErrUnavailable)
				if took := time.Since(began); took > validity {
					t.Errorf("took %v, longer than the lease would last", took)
				}
				if failed := one[leasehold.Failed](t, &seen); failed.Name != "a" || failed.Err != err ||
					len(seen.all) != 1 {
					t.Errorf("observed %+v", seen.all)
				}
				if fault.Hang { // nobody expects it any more: what it takes lasts for one lease
					time.Sleep(5 * ttl)
					n.heal()
					time.Sleep(3 * ttl / 2)
				} else { // what was not cleaned up is still there
					time.Sleep(9 * ttl / 10)
					n.heal()
				}
				alive(t, n, c, "a", "b")
			})
		})
	}
}

// A request that arrives when the client is closed must be undone as well, and Close does not wait for each name by
// itself.
func TestLockAllWhileTheClientIsClosed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]drivertest.Fault{
		"answered": {Before: time.Second, After: time.Second},
		"broken":   {Before: time.Second, After: time.Second, Break: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				c := leasehold.New(n)
				n.on(fault, drivertest.TakeAll)
				asking := start(t.Context(), all(c, "a", "b", "c"))
				asking.wantWaiting(t)
				noErr(t, c.Close())
				began := time.Now()
				n.on(drivertest.Fault{Before: time.Second}, drivertest.Release)
				<-asking.done
				expectOnly(t, asking.err, leasehold.ErrClosed)
				wantTook(t, began, 3*time.Second)
				alive(t, n, newClient(t, n.engine), "a", "b", "c")
			})
		})
	}
}

func TestLockAllIsGivenUpWhileInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		limit   time.Duration
		want    []error
		options []leasehold.Option
	}{
		"cancelled": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			},
			want: []error{context.Canceled},
		},
		"deadline": {ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, want: []error{context.DeadlineExceeded, leasehold.ErrUnavailable}},
		"wait limit": {ctx: context.WithCancel, options: []leasehold.Option{leasehold.WaitLimit(time.Second)},
			want: []error{leasehold.ErrUnavailable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				client := newClient(t, n, leasehold.WithDefaults(c.options...))
				n.on(drivertest.Fault{Before: 2 * time.Second}, drivertest.TakeAll)
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				began := time.Now()
				_, err := client.LockAll(ctx, "a", "b")
				expectOnly(t, err, c.want...)
				wantTook(t, began, time.Second)
				time.Sleep(2 * time.Second) // the request has arrived
				n.heal()
				time.Sleep(time.Second)
				alive(t, n, client, "a", "b")
			})
		})
	}
}

// changedGrants is an engine that changes its grants.
type changedGrants struct {
	*network
	change func([]driver.Grant) []driver.Grant
}

func (e changedGrants) TakeAll(ctx context.Context, batch []driver.Request) ([]driver.Grant, error) {
	grants, err := e.network.TakeAll(ctx, batch)
	return e.change(grants), err
}

func TestLockAllGivesBackWhatIsOfNoUse(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]driver.Grant) []driver.Grant{
		"too late": func(grants []driver.Grant) []driver.Grant {
			grants[0].Start = driver.Now().Add(-ttl)
			return grants
		},
		"one too late": func(grants []driver.Grant) []driver.Grant {
			grants[1].Start = driver.Now().Add(-ttl)
			return grants
		},
		"too few": func(grants []driver.Grant) []driver.Grant { return grants[:2] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				var seen events
				c := newClient(t, changedGrants{n, change},
					leasehold.WithDefaults(leasehold.TTL(ttl), leasehold.AtLeast(0)), leasehold.WithObserver(&seen))
				_, err := c.LockAll(t.Context(), "a", "b", "c")
				expectOnly(t, err, leasehold.ErrUnavailable)
				seen.balance(t)
				one[leasehold.Failed](t, &seen)
				time.Sleep(time.Second)
				alive(t, n, c, "a", "b", "c")
			})
		})
	}
}

func TestObserversOfLockAllAreToldOfEachName(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen), leasehold.WithDefaults(leasehold.Label("account")))
		e.fail(func(c call) error {
			if c.method == "TakeAll" || c.method == "Take" && c.name == "a" {
				time.Sleep(time.Second)
			}
			return nil
		})
		set := takeAll(t, c, "a", "b")
		granted := eventsOf[leasehold.Granted](&seen)
		if len(granted) != 2 || len(seen.all) != 2 {
			t.Fatalf("observed %+v", seen.all)
		}
		for i, g := range granted {
			l := set.Leases()[i]
			if g.Name != l.Name() || g.Token != l.Token() || g.Label != "account" || g.HandedOver {
				t.Errorf("got %+v for %s", g, l.Name())
			}
		}
		if granted[0].Waited != time.Second {
			t.Errorf("a has waited %v", granted[0].Waited)
		}
		release(t, set)
		seen.balance(t)
	})
}

// The time of the first try counts as well.
func TestWaitOfLockAllCountsFromTheCall(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c, other := newClient(t, e, leasehold.WithObserver(&seen)), newClient(t, e)
		held := take(t, other.Mutex("b").Lock)
		e.fail(func(c call) error {
			if c.method == "TakeAll" {
				time.Sleep(time.Second)
			}
			return nil
		})
		waiting := start(t.Context(), all(c, "a", "b"))
		time.Sleep(3 * time.Second)
		release(t, held)
		waiting.wantValue(t)
		for i, g := range eventsOf[leasehold.Granted](&seen) {
			if want := []time.Duration{time.Second, 2 * time.Second}[i]; g.Waited != want {
				t.Errorf("%s has waited %v, want %v", g.Name, g.Waited, want)
			}
		}
	})
}

func TestOptionsOfLockAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option leasehold.Option
		check  func(*testing.T, *leasehold.LeaseSet, *leasehold.Client)
	}{
		"AtLeast": {leasehold.AtLeast(time.Second),
			func(t *testing.T, set *leasehold.LeaseSet, other *leasehold.Client) {
				release(t, set)
				for _, name := range []string{"a", "b"} {
					_, err := other.Mutex(name).TryLock(t.Context())
					expect(t, err, leasehold.ErrHeld)
				}
				time.Sleep(time.Second)
				release(t, takeAll(t, other, "a", "b"))
			}},
		"MaxHold": {leasehold.MaxHold(time.Minute),
			func(t *testing.T, set *leasehold.LeaseSet, other *leasehold.Client) {
				time.Sleep(59 * time.Second)
				wantCause(t, set.Context(), nil)
				time.Sleep(time.Second)
				synctest.Wait() // the end is due at this very moment
				wantCause(t, set.Context(), leasehold.ErrMaxHold)
				expectOnly(t, set.Release(), leasehold.ErrMaxHold)
			}},
		"NoRenew": {leasehold.NoRenew(), func(t *testing.T, set *leasehold.LeaseSet, other *leasehold.Client) {
			time.Sleep(leasehold.DefaultTTL)
			wantCause(t, set.Context(), leasehold.ErrLost)
			release(t, takeAll(t, other, "a", "b"))
		}},
		"TTL": {leasehold.TTL(time.Minute), func(t *testing.T, set *leasehold.LeaseSet, other *leasehold.Client) {
			if left := time.Until(set.Deadline()); left < 59*time.Second || left > time.Minute {
				t.Errorf("the set ends in %v", left)
			}
			time.Sleep(time.Hour) // it is renewed
			wantCause(t, set.Context(), nil)
			release(t, set)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inOneStepAndNot(t, func(t *testing.T, e *spy) {
				set := takeAll(t, newClient(t, e, leasehold.WithDefaults(c.option)), "a", "b")
				c.check(t, set, newClient(t, e))
			})
		})
	}
}

// Callers of one process and of others, with overlapping names, in one step or not, exclude each other.
func TestLockAllExcludes(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		const names = 4
		var in [names]atomic.Int32
		var calls []*outcome[int]
		clients := []*leasehold.Client{newClient(t, e), newClient(t, e)}
		for i := range 8 {
			c := clients[i%2]
			mine := []int{i % names, (i + 1) % names}
			calls = append(calls, start(t.Context(), func(ctx context.Context) (int, error) {
				for n := range 10 {
					set, err := c.LockAll(ctx, fmt.Sprint(mine[0]), fmt.Sprint(mine[1]))
					if err != nil {
						return n, err
					}
					for _, name := range mine {
						if in[name].Add(1) != 1 {
							return n, fmt.Errorf("not alone in %d", name)
						}
					}
					time.Sleep(time.Duration(1+i%3) * time.Millisecond)
					for _, name := range mine {
						in[name].Add(-1)
					}
					if err := set.Release(); err != nil {
						return n, err
					}
				}
				return 10, nil
			}))
		}
		time.Sleep(time.Minute)
		for _, o := range calls {
			o.wantValue(t)
		}
	})
}
