package leasehold_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestInspectReturnsAllAboutAName(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithHolder("host-a:1"))
		lease := take(t, c.Mutex("n", leasehold.TTL(time.Minute)).Lock)
		some := take(t, permits(c.Semaphore("n", 5), 3))
		set(t, c.Latch("n"), 7, true)
		take(t, c.Mutex("other").Lock)
		time.Sleep(5 * time.Second)
		queueUp(t, newClient(t, e, leasehold.WithHolder("host-b:2")).Mutex("n").Lock,
			newClient(t, e, leasehold.WithHolder("host-c:3")).RWMutex("n").RLock)
		time.Sleep(2 * time.Second)

		all, err := c.Inspect(t.Context(), "n")
		expect(t, err, nil)
		if len(all) != 3 || all[0].Kind != leasehold.KindLock || all[1].Kind != leasehold.KindSemaphore ||
			all[2].Kind != leasehold.KindLatch {
			t.Fatalf("got %+v", all)
		}
		h := all[0].Holders[0]
		if h.Token != lease.Token() || h.Holder != "host-a:1" || h.Weight != 1 || h.Age != 7*time.Second ||
			h.TTL != 53*time.Second {
			t.Errorf("the holder is %+v", h)
		}
		if all[0].Waiting != 2 || len(all[0].Queue) != 2 {
			t.Fatalf("got %+v", all[0])
		}
		for i, want := range []leasehold.Waiter{
			{Holder: "host-b:2", Weight: 1, Age: 2 * time.Second},
			{Holder: "host-c:3", Weight: 1, Age: 2 * time.Second, Mode: 1},
		} {
			if all[0].Queue[i] != want {
				t.Errorf("waiter %d is %+v, want %+v", i, all[0].Queue[i], want)
			}
		}
		if h := all[1].Holders[0]; h.Token != some.Token() || h.Weight != 3 {
			t.Errorf("the holder of permits is %+v", h)
		}
		if l := all[2].Latch; l == nil || l.Count != 7 {
			t.Errorf("the latch is %+v", l)
		}
		none, err := c.Inspect(t.Context(), "free")
		if err != nil || len(none) != 0 {
			t.Errorf("of a free name there is %+v, %v", none, err)
		}
	})
}

func TestListGoesThroughAllNamesInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		for i := range 25 {
			take(t, c.Mutex(fmt.Sprintf("order:%02d", i)).Lock)
			take(t, permits(c.Semaphore(fmt.Sprintf("room:%02d", i), 1), 1))
		}
		var seen []string
		q := leasehold.Query{Limit: 7}
		for {
			page, err := c.List(t.Context(), q)
			expect(t, err, nil)
			if len(page) == 0 {
				break
			}
			for _, s := range page {
				seen = append(seen, s.Name)
			}
			q.After = page[len(page)-1].Key
		}
		if len(seen) != 50 || seen[0] != "order:00" || seen[24] != "order:24" || seen[49] != "room:24" {
			t.Errorf("saw %q", seen)
		}
		some, err := c.List(t.Context(), leasehold.Query{Prefix: "room:1", Kind: leasehold.KindSemaphore})
		if err != nil || len(some) != 10 {
			t.Errorf("%d with the prefix, %v", len(some), err)
		}
	})
}

func TestForceReleaseTakesALockAway(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		lease := take(t, c.Mutex("n").Lock)
		began := time.Now()
		waiting := start(t.Context(), other.Mutex("n").Lock)
		waiting.wantWaiting(t)

		expectOnly(t, other.ForceRelease(t.Context(), leasehold.KindLock, "n", lease.Token()+1), leasehold.ErrLost)
		expectOnly(t, other.ForceRelease(t.Context(), leasehold.KindSemaphore, "n", lease.Token()), leasehold.ErrLost)
		waiting.wantWaiting(t)
		expect(t, other.ForceRelease(t.Context(), leasehold.KindLock, "n", lease.Token()), nil)
		next := waiting.wantValue(t)

		<-lease.Context().Done() // at its next renewal
		wantCause(t, lease.Context(), leasehold.ErrLost)
		if took := time.Since(began); took > leasehold.DefaultTTL/3 {
			t.Errorf("the holder has learned of it after %v", took)
		}
		expect(t, lease.Release(), leasehold.ErrLost)
		wantCause(t, next.Context(), nil)
		// The previous token is of no use against the current holder.
		expect(t, c.ForceRelease(t.Context(), leasehold.KindLock, "n", lease.Token()), leasehold.ErrLost)
		release(t, next)
	})
}

func TestForceReleaseGivesPermitsBack(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		s := c.Semaphore("rooms", 3)
		lost, kept := take(t, permits(s, 2)), take(t, permits(s, 1))
		lose(t, c, leasehold.KindSemaphore, lost)
		wantCause(t, kept.Context(), nil)
		release(t, take(t, permits(s, 2)))
	})
}

func TestListOnAnEngineThatFails(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		e.fail(func(call) error { return errLost })
		_, err := c.List(t.Context(), leasehold.Query{})
		expectOnly(t, err, leasehold.ErrUnavailable)
		_, err = c.Election("n").Leader(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		expectOnly(t, c.ForceRelease(t.Context(), leasehold.KindLock, "n", 1), leasehold.ErrUnavailable)
	})
}
