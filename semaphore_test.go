package leasehold_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func TestPermitsAreCountedByWeight(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Semaphore("rooms", 5), newClient(t, e).Semaphore("rooms", 5)
		two := take(t, permits(here, 2))
		three := take(t, permits(there, 3))
		if two.Token() >= three.Token() {
			t.Errorf("tokens %d and then %d", two.Token(), three.Token())
		}
		for _, s := range []*leasehold.Semaphore{here, there} {
			_, err := s.TryAcquire(t.Context(), 1)
			expect(t, err, leasehold.ErrHeld)
		}
		release(t, two)
		_, err := there.TryAcquire(t.Context(), 3)
		expect(t, err, leasehold.ErrHeld)
		lease, err := there.TryAcquire(t.Context(), 2)
		expect(t, err, nil)
		release(t, three)
		release(t, lease)
		release(t, take(t, permits(here, 5)))
	})
}

func TestWaitersGetPermitsAsTheyComeBack(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Semaphore("rooms", 2), newClient(t, e).Semaphore("rooms", 2)
		one, other := take(t, permits(here, 1)), take(t, permits(here, 1))
		waiting := queueUp(t, permits(here, 1), permits(there, 2), permits(here, 1))
		release(t, one)
		first := waiting[0].wantValue(t)
		waiting[1].wantWaiting(t)
		waiting[2].wantWaiting(t)
		release(t, other)
		release(t, first)
		both := waiting[1].wantValue(t)
		waiting[2].wantWaiting(t)
		release(t, both)
		release(t, waiting[2].wantValue(t))
	})
}

// A caller that asks for many would wait for ever if callers that ask for few could overtake it.
func TestABigWaiterIsNotOvertaken(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		here, there := c.Semaphore("rooms", 3), other.Semaphore("rooms", 3)
		held := take(t, permits(here, 1))
		big := start(t.Context(), permits(here, 3))
		big.wantWaiting(t)
		for _, s := range []*leasehold.Semaphore{here, there} {
			_, err := s.TryAcquire(t.Context(), 1) // two are free, but reserved
			expect(t, err, leasehold.ErrHeld)
		}
		small, remote := start(t.Context(), permits(here, 1)), start(t.Context(), permits(there, 1))
		small.wantWaiting(t)
		remote.wantWaiting(t)
		release(t, held)
		all := big.wantValue(t)
		small.wantWaiting(t)
		remote.wantWaiting(t)
		release(t, all)
		release(t, small.wantValue(t))
		release(t, remote.wantValue(t))
	})
}

func TestABigWaiterThatGivesUpMakesRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		take(t, permits(c.Semaphore("rooms", 3), 1))
		big := start(t.Context(), permits(c.Semaphore("rooms", 3, leasehold.WaitLimit(time.Second)), 3))
		big.wantWaiting(t)
		small := start(t.Context(), permits(c.Semaphore("rooms", 3), 1))
		small.wantWaiting(t)
		time.Sleep(time.Second)
		big.wantErr(t, leasehold.ErrTimeout)
		release(t, small.wantValue(t))
	})
}

func TestPermitsOfADeadHolderComeBack(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		dead := newClient(t, e).Semaphore("rooms", 3, leasehold.NoRenew(), leasehold.TTL(10*time.Second))
		alive := newClient(t, e).Semaphore("rooms", 3, leasehold.TTL(10*time.Second))
		take(t, permits(dead, 2))
		kept := take(t, permits(alive, 1))
		began := time.Now()
		take(t, permits(alive, 2))
		if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("the permits came back after %v, want about the ttl of 10s", took)
		}
		wantCause(t, kept.Context(), nil)
	})
}

func TestPermitsAreRenewed(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		s := newClient(t, e).Semaphore("rooms", 1)
		lease := take(t, permits(s, 1))
		time.Sleep(10 * leasehold.DefaultTTL)
		_, err := newClient(t, e).Semaphore("rooms", 1).TryAcquire(t.Context(), 1)
		expect(t, err, leasehold.ErrHeld)
		release(t, lease)
	})
}

func TestASemaphoreIsNotReentrant(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		s := newClient(t, e).Semaphore("rooms", 2)
		first := take(t, permits(s, 1))
		second, err := s.Acquire(first.Context(), 1)
		expect(t, err, nil)
		if first.Token() == second.Token() {
			t.Error("two grants have the same token")
		}
		_, err = s.TryAcquire(second.Context(), 1)
		expect(t, err, leasehold.ErrHeld)
		release(t, first) // ends the context that the second was derived from, not the second
		release(t, second)
	})
}

func TestEachRequestIsJudgedByItsOwnSize(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		take(t, permits(c.Semaphore("rooms", 2), 2))
		take(t, permits(c.Semaphore("rooms", 3), 1))
		_, err := c.Semaphore("rooms", 2).TryAcquire(t.Context(), 1)
		expect(t, err, leasehold.ErrHeld)
	})
}
