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

// line begins a call after another, so that they wait in this order.
func line(t *testing.T, fs ...asker) (waiting []*outcome[*leasehold.Lease]) {
	t.Helper()
	for _, f := range fs {
		o := begin(t.Context(), f)
		o.waits(t)
		waiting = append(waiting, o)
	}
	return waiting
}

// waitingOn returns how many the engine knows to wait for a lock.
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
		var line []*outcome[uint64]
		for i := range waiters {
			o := begin(t.Context(), func(ctx context.Context) (uint64, error) {
				lease, err := m.Lock(ctx)
				if err != nil {
					return 0, err
				}
				served = append(served, i)
				token := lease.Token()
				return token, lease.Release()
			})
			o.waits(t)
			line = append(line, o)
		}
		last := lease.Token()
		release(t, lease)
		for _, o := range line {
			token := o.gets(t)
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
			line(t, c.Mutex("order").Lock, c.Mutex("order").Lock, c.RWMutex("order").RLock, c.RWMutex("order").Lock)
			if n := waitingOn(t, e, "order"); n != processes {
				t.Errorf("%d processes are %d waiters on the engine", processes, n)
			}
		}
	})
}

// Who waits behind others of the same process costs the engine nothing.
func TestWaitingInTheLineSendsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.WaitLimit(time.Second))
		take(t, m.Lock)
		requests := e.sent()
		waiting := line(t, m.Lock, m.Lock, m.Lock)
		time.Sleep(time.Second)
		for _, o := range waiting {
			o.fails(t, leasehold.ErrTimeout)
		}
		if n := e.sent() - requests; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestAWaiterThatGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]int{"asking the engine": 0, "first in line": 1, "in the middle": 2, "last": 4} {
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
					waiting = append(waiting, begin(of, m.Lock))
					waiting[i].waits(t)
				}
				giveUp()
				waiting[who].fails(t, context.Canceled)
				if n := waitingOn(t, e, "order"); n != 1 {
					t.Errorf("%d wait on the engine, want 1", n)
				}
				release(t, held)
				for i, o := range waiting {
					if i != who {
						release(t, o.gets(t))
					}
				}
				if n := waitingOn(t, e, "order"); n != 0 {
					t.Errorf("%d wait on the engine, want none", n)
				}
			})
		})
	}
}

func TestHandingOnTakesFewRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		const waiters = 60
		m := newClient(t, e).Mutex("order")
		held := take(t, m.Lock)
		waiting := line(t, slices.Repeat([]asker{m.Lock}, waiters)...)
		requests := e.sent()
		last := held.Token()
		release(t, held)
		for i, o := range waiting {
			lease := o.gets(t)
			if lease.Token() <= last {
				t.Fatalf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			wantCause(t, lease.Context(), nil)
			if i < len(waiting)-1 {
				waiting[i+1].waits(t)
			}
			release(t, lease)
		}
		// A release, a take for all of them, and the release of the last.
		if n := e.sent() - requests; n != 3 {
			t.Errorf("%d hand-overs took %d requests", waiters, n)
		}
		next := take(t, newClient(t, e).Mutex("order").Lock)
		if next.Token() <= last {
			t.Errorf("another client's token %d follows %d", next.Token(), last)
		}
	})
}

// handedOn returns a lease that came from another of the process, and those that wait behind it.
func handedOn(t *testing.T, m *leasehold.Mutex, behind int) (before, lease *leasehold.Lease, waiting []*outcome[*leasehold.Lease]) {
	t.Helper()
	first := take(t, m.Lock)
	waiting = line(t, slices.Repeat([]asker{m.Lock}, behind+2)...)
	release(t, first)
	before = waiting[0].gets(t)
	release(t, before)
	return before, waiting[1].gets(t), waiting[2:]
}

func TestALeaseThatWasHandedOnIsOverForWhoGaveIt(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		m := c.Mutex("order")
		before, lease, _ := handedOn(t, m, 0)
		if e.sent("Take") != 2 || lease.Token() != before.Token()+1 {
			t.Fatal("the lease was not handed on")
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

func TestALeaseThatWasHandedOnIsRenewedAndCanBeLost(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		_, lease, waiting := handedOn(t, c.Mutex("order"), 1)
		time.Sleep(10 * leasehold.DefaultTTL)
		wantCause(t, lease.Context(), nil)
		lose(t, c, leasehold.KindLock, lease)
		expect(t, lease.Release(), leasehold.ErrLost)
		next := waiting[0].gets(t) // has asked the engine anew
		if next.Token() <= lease.Token() {
			t.Errorf("token %d follows %d", next.Token(), lease.Token())
		}
	})
}

// Handing on must not keep others out: as soon as the engine knows of a waiter elsewhere, it is their turn.
func TestAWaiterElsewhereEndsHandingOn(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		_, lease, waiting := handedOn(t, c.Mutex("order"), 5)
		elsewhere := line(t, newClient(t, e).Mutex("order").Lock)
		release(t, lease)
		waiting[0].waits(t)
		theirs := elsewhere[0].gets(t)
		if theirs.Token() <= lease.Token() {
			t.Errorf("token %d follows %d", theirs.Token(), lease.Token())
		}
		release(t, theirs)
		last := theirs.Token()
		for _, o := range waiting {
			lease := o.gets(t)
			if lease.Token() <= last {
				t.Errorf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			release(t, lease)
		}
	})
}

// An engine that cannot tell whether somebody waits elsewhere is asked after a short time.
func TestHandingOnEndsAfterAShortTime(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, struct{ driver.Engine }{e}).Mutex("order") // hides all optional methods
		held := take(t, m.Lock)
		waiting := line(t, slices.Repeat([]asker{m.Lock}, 30)...)
		release(t, held)
		waiting[0].gets(t)
		began := time.Now()
		elsewhere := begin(t.Context(), newClient(t, e).Mutex("order").Lock)
		handed := 0
		for _, o := range waiting {
			if elsewhere.over() {
				break
			}
			lease := o.gets(t)
			handed++
			time.Sleep(3 * time.Millisecond)
			release(t, lease)
		}
		elsewhere.gets(t)
		if took := time.Since(began); handed < 2 || took > 15*time.Millisecond {
			t.Errorf("the other had its turn after %d hand-overs in %v", handed, took)
		}
	})
}

// A waiter with other wishes gets a grant of its own.
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
				waiting := line(t, m.Lock, other(c), m.Lock)
				release(t, held)
				for _, o := range waiting {
					time.Sleep(time.Millisecond) // AtLeast keeps the name for a moment
					release(t, o.gets(t))
				}
				if n := e.sent("Take"); n != 4 {
					t.Errorf("%d grants of the engine, want 4", n)
				}
			})
		})
	}
}

func TestHandingOnCanBeTurnedOff(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e, leasehold.WithHandOver(0)).Mutex("order")
		held := take(t, m.Lock)
		waiting := line(t, m.Lock, m.Lock, m.Lock)
		release(t, held)
		for _, o := range waiting {
			release(t, o.gets(t))
		}
		if e.sent("Take") != 4 || e.sent("Release") != 4 || e.last(t, "Take").tokens != 1 {
			t.Errorf("%d takes, %d releases, the last for %d tokens", e.sent("Take"), e.sent("Release"), e.last(t, "Take").tokens)
		}
	})
}

func TestHandingOnIsLimited(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e, leasehold.WithHandOver(3)).Mutex("order")
		held := take(t, m.Lock)
		waiting := line(t, slices.Repeat([]asker{m.Lock}, 12)...)
		release(t, held)
		for _, o := range waiting {
			release(t, o.gets(t))
		}
		if n := e.sent("Take"); n != 4 { // the first, and then one for each four
			t.Errorf("%d grants of the engine, want 4", n)
		}
	})
}

// late is a context that has ended without having told those who wait for it: the moment at which a turn and the
// end of the context come together.
type late struct {
	context.Context
	ended atomic.Bool
}

func (l *late) Err() error {
	if l.ended.Load() {
		return context.Canceled
	}
	return nil
}

func TestATurnThatComesTooLateGoesToTheNext(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		gone := &late{Context: t.Context()}
		held := take(t, m.Lock)
		tooLate := begin(gone, m.Lock)
		tooLate.waits(t)
		next := line(t, m.Lock)[0]
		gone.ended.Store(true)
		release(t, held)
		tooLate.fails(t, context.Canceled)
		release(t, next.gets(t))
	})
}

func TestALeaseThatIsHandedOnTooLateGoesToTheNext(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		m := newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order")
		gone := &late{Context: t.Context()}
		first := take(t, m.Lock)
		held := line(t, m.Lock)[0] // will have tokens for the two behind
		tooLate := begin(gone, m.Lock)
		tooLate.waits(t)
		next := line(t, m.Lock)[0]
		release(t, first)
		lease := held.gets(t)
		gone.ended.Store(true)
		release(t, lease)
		tooLate.fails(t, context.Canceled)
		if n := e.sent("Take"); n != 2 {
			t.Fatalf("%d grants of the engine: nothing was handed on", n)
		}
		release(t, next.gets(t))
		seen.balance(t) // what nobody got was not released either
	})
}
