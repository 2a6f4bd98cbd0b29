package leasehold_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

// expectTold expects an error that is want and nothing else, and contains these parts.
func expectTold(t *testing.T, err, want error, parts ...string) {
	t.Helper()
	expectOnly(t, err, want)
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error %v does not say %q", err, part)
		}
	}
}

// In one process no more callers than the limit wait for one name, and nothing is sent for the others.
func TestALimitOfWaitersInOneProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		const limit = 5
		c := newClient(t, e, leasehold.WithMaxWaiters(limit))
		order := c.RWMutex("order")
		held := take(t, order.Lock)
		requests := e.sent()
		var waiting []*outcome[*leasehold.Lease]
		for i := range limit {
			waiting = append(waiting, queueUp(t, []asker{order.Lock, order.RLock}[i%2])...)
		}
		for _, f := range []asker{order.Lock, order.RLock, c.Mutex("order").Lock, campaign(c.Election("order"), "me")} {
			_, err := f(t.Context())
			expectTold(t, err, leasehold.ErrTooManyWaiters, "order", "in this process", "WithMaxWaiters",
				fmt.Sprint(limit))
		}
		if n := e.sent() - requests; n != 0 {
			t.Errorf("%d requests were sent for callers that wait, or are refused", n)
		}
		_, err := order.TryLock(t.Context())
		expectOnly(t, err, leasehold.ErrHeld) // a try does not wait
		take(t, c.Mutex("another").Lock)

		release(t, held)
		first := waiting[0].wantValue(t)
		waiting = append(waiting[1:], queueUp(t, order.Lock)...) // there is room again
		release(t, first)
		for _, o := range waiting {
			release(t, o.wantValue(t))
		}
	})
}

// On the engine one caller of each process waits, and no more processes than the limit do.
func TestALimitOfWaitersOnTheEngine(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		held := take(t, newClient(t, e).Mutex("order").Lock)
		var waiting []*outcome[*leasehold.Lease]
		for range 3 {
			waiting = append(waiting, queueUp(t, newClient(t, e, leasehold.WithMaxWaiters(3)).Mutex("order").Lock)...)
		}
		late := newClient(t, e, leasehold.WithMaxWaiters(3)).Mutex("order")
		for range 2 {
			takes := e.sent("Take")
			_, err := late.Lock(t.Context())
			expectTold(t, err, leasehold.ErrTooManyWaiters, "order", "on the engine", "WithMaxWaiters", "3")
			if n := e.sent("Take") - takes; n != 1 {
				t.Errorf("%d takes were sent, want 1: the answer would be the same", n)
			}
		}
		if n := waitingOn(t, e, "order"); n != 3 || e.sent("Release") != 0 {
			t.Errorf("%d wait, and %d releases were sent; want 3, and none for those that are refused", n,
				e.sent("Release"))
		}
		release(t, held)
		release(t, waiting[0].wantValue(t))
		waiting = append(waiting[1:], queueUp(t, late.Lock)...)
		for _, o := range waiting {
			release(t, o.wantValue(t))
		}
	})
}

// Callers that wait behind one that is refused ask for themselves.
func TestTheNextWaiterAsksAfterOneIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		held := take(t, newClient(t, e).Mutex("order").Lock)
		first := queueUp(t, newClient(t, e).Mutex("order").Lock)[0]
		asked, answer := make(chan struct{}), make(chan struct{})
		c := newClient(t, e, leasehold.WithMaxWaiters(1))
		e.fail(func(c call) error {
			if c.method == "Take" {
				e.fail(nil)
				close(asked)
				<-answer
			}
			return nil
		})
		second := start(t.Context(), c.Mutex("order").Lock)
		<-asked
		third := queueUp(t, c.Mutex("order").Lock)[0]
		release(t, held)
		other := first.wantValue(t)
		fourth := queueUp(t, newClient(t, e).Mutex("order").Lock)[0]
		close(answer)
		second.wantErr(t, leasehold.ErrTooManyWaiters)
		third.wantErr(t, leasehold.ErrTooManyWaiters)
		release(t, other)
		release(t, fourth.wantValue(t))
		release(t, take(t, c.Mutex("order").Lock))
	})
}

// A waiter that has had a place waits on, even if the engine has lost the place, whoever else waits.
func TestAWaiterIsNotRefusedLater(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		held := take(t, newClient(t, e).Mutex("order").Lock)
		trouble := make(chan struct{})
		e.fail(func(c call) error {
			if c.method != "Wait" {
				return nil
			}
			e.fail(nil)
			<-trouble
			return driver.Spent(errLost) // the call must go on with another owner
		})
		waits := queueUp(t, newClient(t, e, leasehold.WithMaxWaiters(1)).Mutex("order").Lock)[0]
		others := queueUp(t, newClient(t, e).Mutex("order").Lock, newClient(t, e).Mutex("order").Lock)
		close(trouble)
		time.Sleep(leasehold.DefaultTTL / 4)
		waits.wantWaiting(t)
		if n := waitingOn(t, e, "order"); n != 3 {
			t.Errorf("%d wait on the engine, want 3", n)
		}
		release(t, held)
		for _, o := range append(others, waits) {
			release(t, o.wantValue(t))
		}
	})
}

// A client has and asks for no more leases than the limit.
func TestALimitOfLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		const limit = 4
		c := newClient(t, e, leasehold.WithMaxLeases(limit))
		other := take(t, newClient(t, e).Mutex("held").Lock)
		first := take(t, c.Mutex("first").Lock)
		again, err := c.Mutex("first").Lock(first.Context()) // counts once
		expect(t, err, nil)
		take(t, permits(c.Semaphore("permits", 3), 2))
		reader := take(t, c.RWMutex("read").RLock)
		waiting := queueUp(t, c.Mutex("held").Lock)[0]
		requests := e.sent()
		for name, f := range map[string]asker{
			"lock": c.Mutex("free").Lock, "try": c.Mutex("free").TryLock, "read": c.RWMutex("read").RLock,
			"wait": c.Mutex("held").Lock, "permits": permits(c.Semaphore("permits", 3), 1),
			"campaign": campaign(c.Election("free"), "me"),
			"all": func(ctx context.Context) (*leasehold.Lease, error) {
				_, err := c.LockAll(ctx, "free", "free 2")
				return nil, err
			},
		} {
			t.Log(name)
			_, err := f(t.Context())
			expectTold(t, err, leasehold.ErrFull, "WithMaxLeases", fmt.Sprint(limit))
		}
		if n := e.sent() - requests; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		release(t, reader)
		_, err = c.LockAll(t.Context(), "free", "free 2") // two are one too many
		expectOnly(t, err, leasehold.ErrFull)
		take(t, c.Mutex("free").Lock)
		_, err = c.Mutex("free 2").Lock(t.Context())
		expectOnly(t, err, leasehold.ErrFull)
		release(t, again)
		_, err = c.Mutex("free 2").Lock(t.Context())
		expectOnly(t, err, leasehold.ErrFull)
		release(t, first)
		take(t, c.Mutex("free 2").Lock)
		release(t, other)
		release(t, waiting.wantValue(t))
		release(t, takeAll(t, c, "free 3"))
	})
}

// Calls that fail are not counted for ever, however they end.
func TestAllThatEndsMakesRoom(t *testing.T) {
	inOneStepAndNot(t, func(t *testing.T, e *spy) {
		const limit = 3
		c := newClient(t, e, leasehold.WithMaxLeases(limit))
		held := take(t, newClient(t, e).Mutex("held").Lock)
		m := c.Mutex("name")
		fill := func(why string) {
			t.Helper()
			var leases []*leasehold.Lease
			for i := range limit {
				leases = append(leases, take(t, c.Mutex(fmt.Sprint("fill ", i)).Lock))
			}
			_, err := m.TryLock(t.Context())
			expectOnly(t, err, leasehold.ErrFull)
			for _, l := range leases {
				release(t, l)
			}
			if t.Failed() {
				t.Fatal("after ", why)
			}
		}
		for range 2 * limit {
			_, err := c.Mutex("held").TryLock(t.Context())
			expectOnly(t, err, leasehold.ErrHeld)
			_, err = c.Mutex("held", leasehold.WaitLimit(time.Millisecond)).Lock(t.Context())
			expectOnly(t, err, leasehold.ErrTimeout)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err = c.LockAll(ctx, "a", "held")
			expect(t, err, context.DeadlineExceeded)
			cancel()
			time.Sleep(time.Second) // the waiter is cleaned up
		}
		fill("tries and waits")
		for range 2 * limit {
			release(t, takeAll(t, c, "a", "b", "c"))
		}
		fill("locks of several names")
		handed := take(t, m.Lock)
		waiting := queueUp(t, slices.Repeat([]asker{m.Lock}, limit-1)...)
		release(t, handed)
		for _, o := range waiting {
			release(t, o.wantValue(t))
		}
		fill("hand-overs")
		for range 2 * limit {
			lose(t, e, driver.Lock, take(t, m.Lock))
			time.Sleep(2 * leasehold.DefaultTTL)
		}
		fill("leases that were lost")
		for range 2 * limit {
			lease := take(t, c.Mutex("name", leasehold.MaxHold(time.Second)).Lock)
			<-lease.Context().Done()
			time.Sleep(2 * leasehold.DefaultTTL)
		}
		fill("leases that ended")
		release(t, held)
	})
}

// What may be left on the engine counts until it is cleaned up.
func TestWhatIsNotCleanedUpCountsAmongTheLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithMaxLeases(2))
		e.fail(func(call) error { return errLost })
		for range 2 {
			_, err := c.Mutex("name").TryLock(t.Context())
			expectOnly(t, err, leasehold.ErrUnavailable)
		}
		_, err := c.Mutex("name").TryLock(t.Context())
		expectOnly(t, err, leasehold.ErrFull)
		e.fail(nil)
		time.Sleep(3 * leasehold.DefaultTTL)
		release(t, take(t, c.Mutex("name").Lock))
		release(t, takeAll(t, c, "a", "b"))
	})
}

func TestBadLimits(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		all := []int{0, -1}
		if math.MaxInt > math.MaxInt32 {
			all = append(all, math.MaxInt)
		}
		for _, bad := range all {
			_, err := newClient(t, e, leasehold.WithMaxWaiters(bad)).Mutex("n").Lock(t.Context())
			expectRefusal(t, err, "limit of waiters", fmt.Sprint(bad))
			_, err = newClient(t, e, leasehold.WithMaxLeases(bad)).Mutex("n").Lock(t.Context())
			expectRefusal(t, err, "limit of leases", fmt.Sprint(bad))
		}
	})
}

// limitReader is an engine that keeps the limit of waiters of the last take.
type limitReader struct {
	*memory.Engine
	limit int
}

func (e *limitReader) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	e.limit = r.MaxWaiters
	return e.Engine.Take(ctx, r)
}

// Operators who do not say otherwise judge by the default limit of locks.
func TestTheDefaultLimitOfWaitersIsThatOfAdmin(t *testing.T) {
	t.Parallel()
	e := &limitReader{Engine: memory.New()}
	release(t, take(t, newClient(t, e).Mutex("order").Lock))
	if e.limit != admin.DefaultMaxWaiters {
		t.Errorf("the limit is %d, that of admin %d", e.limit, admin.DefaultMaxWaiters)
	}
}
