package leasehold_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// queueUp begins calls one after another, so that they wait in this order.
func queueUp(t *testing.T, fs ...asker) (waiting []*outcome[*leasehold.Lease]) {
	t.Helper()
	for _, f := range fs {
		o := start(t.Context(), f)
		o.wantWaiting(t)
		waiting = append(waiting, o)
	}
	return waiting
}

// waitingOn returns how many waiters of a lock the engine knows.
func waitingOn(t *testing.T, e *spy, name string) int {
	t.Helper()
	all, err := e.Engine.List(t.Context(), driver.Query{Kind: driver.Lock, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		return 0
	}
	return all[0].Waiting
}

func TestOneProcessServesItsWaitersInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		const waiters = 1000
		m := newClient(t, e).Mutex("order")
		lease := take(t, m.Lock)
		var served []int
		var calls []*outcome[uint64]
		for i := range waiters {
			o := start(t.Context(), func(ctx context.Context) (uint64, error) {
				lease, err := m.Lock(ctx)
				if err != nil {
					return 0, err
				}
				served = append(served, i)
				token := lease.Token()
				return token, lease.Release()
			})
			o.wantWaiting(t)
			calls = append(calls, o)
		}
		last := lease.Token()
		release(t, lease)
		for _, o := range calls {
			token := o.wantValue(t)
			if token <= last {
				t.Fatalf("token %d follows %d", token, last)
			}
			last = token
		}
		if !slices.IsSorted(served) || len(served) != waiters {
			t.Errorf("%d were served, in this order: %v", len(served), served)
		}
	})
}

func TestOneProcessIsOneWaiterOnTheEngine(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		take(t, newClient(t, e).Mutex("order").Lock)
		for processes := 1; processes <= 3; processes++ {
			c := newClient(t, e)
			queueUp(t, c.Mutex("order").Lock, c.Mutex("order").Lock, c.RWMutex("order").RLock, c.RWMutex("order").Lock)
			if n := waitingOn(t, e, "order"); n != processes {
				t.Errorf("%d processes are %d waiters on the engine", processes, n)
			}
		}
	})
}

// Waiting behind others of the same process costs the engine nothing.
func TestWaitingInTheLocalQueueSendsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.WaitLimit(time.Second))
		take(t, m.Lock)
		requests := e.sent()
		waiting := queueUp(t, m.Lock, m.Lock, m.Lock)
		time.Sleep(time.Second)
		for _, o := range waiting {
			o.wantErr(t, leasehold.ErrTimeout)
		}
		if n := e.sent() - requests; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestAWaiterThatGivesUpLeavesTheQueue(t *testing.T) {
	t.Parallel()
	positions := map[string]int{"asking the engine": 0, "first in the queue": 1, "in the middle": 2, "last": 4}
	for name, who := range positions {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				held := take(t, newClient(t, e).Mutex("order").Lock)
				m := newClient(t, e).Mutex("order")
				ctx, giveUp := context.WithCancel(t.Context())
				var waiting []*outcome[*leasehold.Lease]
				for i := range 5 {
					of := t.Context()
					if i == who {
						of = ctx
					}
					waiting = append(waiting, start(of, m.Lock))
					waiting[i].wantWaiting(t)
				}
				giveUp()
				waiting[who].wantErr(t, context.Canceled)
				if n := waitingOn(t, e, "order"); n != 1 {
					t.Errorf("%d wait on the engine, want 1", n)
				}
				release(t, held)
				for i, o := range waiting {
					if i != who {
						release(t, o.wantValue(t))
					}
				}
				if n := waitingOn(t, e, "order"); n != 0 {
					t.Errorf("%d wait on the engine, want none", n)
				}
			})
		})
	}
}

func TestHandingOverTakesFewRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		const waiters = 60
		m := newClient(t, e).Mutex("order")
		held := take(t, m.Lock)
		waiting := queueUp(t, slices.Repeat([]asker{m.Lock}, waiters)...)
		requests := e.sent()
		last := held.Token()
		release(t, held)
		for i, o := range waiting {
			lease := o.wantValue(t)
			if lease.Token() <= last {
				t.Fatalf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			wantCause(t, lease.Context(), nil)
			if i < len(waiting)-1 {
				waiting[i+1].wantWaiting(t)
			}
			release(t, lease)
		}
		// A release, a take for all of them, and the release of the last one.
		if n := e.sent() - requests; n != 3 {
			t.Errorf("%d hand-overs took %d requests", waiters, n)
		}
		next := take(t, newClient(t, e).Mutex("order").Lock)
		if next.Token() <= last {
			t.Errorf("another client's token %d follows %d", next.Token(), last)
		}
	})
}

// handedOver returns a lease that was handed over inside the process, and the calls that wait behind it.
func handedOver(
	t *testing.T, m *leasehold.Mutex, behind int,
) (before, lease *leasehold.Lease, waiting []*outcome[*leasehold.Lease]) {
	t.Helper()
	first := take(t, m.Lock)
	waiting = queueUp(t, slices.Repeat([]asker{m.Lock}, behind+2)...)
	release(t, first)
	before = waiting[0].wantValue(t)
	release(t, before)
	return before, waiting[1].wantValue(t), waiting[2:]
}

func TestALeaseThatWasHandedOverHasEndedForItsGiver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		m := c.Mutex("order")
		before, lease, _ := handedOver(t, m, 0)
		if e.sent("Take") != 2 || lease.Token() != before.Token()+1 {
			t.Fatal("the lease was not handed over")
		}
		wantCause(t, before.Context(), leasehold.ErrReleased)
		expect(t, before.Extend(t.Context(), time.Hour), leasehold.ErrReleased)
		expect(t, before.Downgrade(t.Context()), leasehold.ErrReleased)
		_, err := m.Lock(context.WithoutCancel(before.Context()))
		expect(t, err, leasehold.ErrReleased)
		release(t, before) // again
		wantCause(t, lease.Context(), nil)
		_, err = newClient(t, e).Mutex("order").TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)

		inner, err := m.Lock(lease.Context())
		expect(t, err, nil)
		release(t, lease)
		release(t, inner)
		release(t, take(t, newClient(t, e).Mutex("order").TryLock))
	})
}

func TestALeaseThatWasHandedOverIsRenewedAndCanBeLost(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		_, lease, waiting := handedOver(t, c.Mutex("order"), 1)
		time.Sleep(10 * leasehold.DefaultTTL)
		wantCause(t, lease.Context(), nil)
		lose(t, e, driver.Lock, lease)
		expect(t, lease.Release(), leasehold.ErrLost)
		next := waiting[0].wantValue(t) // has asked the engine anew
		if next.Token() <= lease.Token() {
			t.Errorf("token %d follows %d", next.Token(), lease.Token())
		}
	})
}

// Handing over must not keep others out: as soon as the engine knows of a waiter elsewhere, it is the waiter's turn.
func TestAWaiterElsewhereEndsHandingOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		_, lease, waiting := handedOver(t, c.Mutex("order"), 5)
		elsewhere := queueUp(t, newClient(t, e).Mutex("order").Lock)
		release(t, lease)
		waiting[0].wantWaiting(t)
		theirs := elsewhere[0].wantValue(t)
		if theirs.Token() <= lease.Token() {
			t.Errorf("token %d follows %d", theirs.Token(), lease.Token())
		}
		release(t, theirs)
		last := theirs.Token()
		for _, o := range waiting {
			lease := o.wantValue(t)
			if lease.Token() <= last {
				t.Errorf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			release(t, lease)
		}
	})
}

// An engine that cannot tell whether somebody waits elsewhere is asked after a short time.
func TestHandingOverEndsAfterAShortTime(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, struct{ driver.Engine }{e}).Mutex("order") // hides all optional methods
		held := take(t, m.Lock)
		waiting := queueUp(t, slices.Repeat([]asker{m.Lock}, 30)...)
		release(t, held)
		waiting[0].wantValue(t)
		began := time.Now()
		elsewhere := start(t.Context(), newClient(t, e).Mutex("order").Lock)
		handed := 0
		for _, o := range waiting {
			if elsewhere.settle() {
				break
			}
			lease := o.wantValue(t)
			handed++
			time.Sleep(3 * time.Millisecond)
			release(t, lease)
		}
		elsewhere.wantValue(t)
		if took := time.Since(began); handed < 2 || took > 15*time.Millisecond {
			t.Errorf("the other had its turn after %d hand-overs in %v", handed, took)
		}
	})
}

// A waiter with other options gets a grant of its own.
func TestAWaiterWithOtherOptionsAsksTheEngine(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(*leasehold.Client) asker{
		"ttl":       func(c *leasehold.Client) asker { return c.Mutex("n", leasehold.TTL(time.Minute)).Lock },
		"no renew":  func(c *leasehold.Client) asker { return c.Mutex("n", leasehold.NoRenew()).Lock },
		"max hold":  func(c *leasehold.Client) asker { return c.Mutex("n", leasehold.MaxHold(time.Hour)).Lock },
		"at least":  func(c *leasehold.Client) asker { return c.Mutex("n", leasehold.AtLeast(1)).Lock },
		"reader":    func(c *leasehold.Client) asker { return c.RWMutex("n").RLock },
		"candidate": func(c *leasehold.Client) asker { return campaign(c.Election("n"), "Anna") },
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				m := c.Mutex("n")
				held := take(t, m.Lock)
				waiting := queueUp(t, m.Lock, other(c), m.Lock)
				release(t, held)
				for _, o := range waiting {
					time.Sleep(time.Millisecond) // AtLeast keeps the name for a moment
					release(t, o.wantValue(t))
				}
				if n := e.sent("Take"); n != 4 {
					t.Errorf("%d grants of the engine, want 4", n)
				}
			})
		})
	}
}

func TestHandingOverCanBeTurnedOff(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e, leasehold.WithHandOver(0)).Mutex("order")
		held := take(t, m.Lock)
		waiting := queueUp(t, m.Lock, m.Lock, m.Lock)
		release(t, held)
		for _, o := range waiting {
			release(t, o.wantValue(t))
		}
		if e.sent("Take") != 4 || e.sent("Release") != 4 || e.last(t, "Take").tokens != 1 {
			t.Errorf("%d takes, %d releases, the last for %d tokens", e.sent("Take"), e.sent("Release"),
				e.last(t, "Take").tokens)
		}
	})
}

func TestHandingOverIsLimited(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e, leasehold.WithHandOver(3)).Mutex("order")
		held := take(t, m.Lock)
		waiting := queueUp(t, slices.Repeat([]asker{m.Lock}, 12)...)
		release(t, held)
		for _, o := range waiting {
			release(t, o.wantValue(t))
		}
		if n := e.sent("Take"); n != 4 { // the first, and then one for each four
			t.Errorf("%d grants of the engine, want 4", n)
		}
	})
}

// lateContext is a context that has ended, but whose Done channel is closed later: the moment when a turn and
// the end of the context coincide.
type lateContext struct {
	context.Context
	ended atomic.Bool
}

func (l *lateContext) Err() error {
	if l.ended.Load() {
		return context.Canceled
	}
	return nil
}

func TestATurnThatComesTooLateGoesToTheNext(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		gone := &lateContext{Context: t.Context()}
		held := take(t, m.Lock)
		tooLate := start(gone, m.Lock)
		tooLate.wantWaiting(t)
		next := queueUp(t, m.Lock)[0]
		gone.ended.Store(true)
		release(t, held)
		tooLate.wantErr(t, context.Canceled)
		release(t, next.wantValue(t))
	})
}

func TestALeaseThatIsHandedOverTooLateGoesToTheNext(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		m := newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order")
		gone := &lateContext{Context: t.Context()}
		first := take(t, m.Lock)
		held := queueUp(t, m.Lock)[0] // will have tokens for the two behind it
		tooLate := start(gone, m.Lock)
		tooLate.wantWaiting(t)
		next := queueUp(t, m.Lock)[0]
		release(t, first)
		lease := held.wantValue(t)
		gone.ended.Store(true)
		release(t, lease)
		tooLate.wantErr(t, context.Canceled)
		if n := e.sent("Take"); n != 2 {
			t.Fatalf("%d grants of the engine: nothing was handed over", n)
		}
		release(t, next.wantValue(t))
		seen.balance(t) // what nobody got was not released either
	})
}
