package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Waiters that were killed make room for others, even if the lock is never released.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	mustTake(t, e, lasting("a", time.Minute))
	joining := func() driver.Request {
		r := lasting("a", time.Minute)
		r.Join, r.MaxWaiters = true, 21
		return r
	}
	first := joining()
	startWait(t, e, mustJoin(t, e, first))
	awaitSubscriptions(t, s, 1)
	addWaiters(t, s, "a", 20, "P", 30*time.Second)
	isFull := func() bool {
		t.Helper()
		_, err := e.Take(t.Context(), joining())
		if err != nil && !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrTooManyWaiters) {
			t.Fatal(err)
		}
		return errors.Is(err, driver.ErrTooManyWaiters)
	}
	for range 30 {
		if !isFull() {
			t.Fatal("waiters that may still live were removed from the queue")
		}
	}
	makeUnseen(t, s, "{lock:a}:info", 2*time.Minute)
	eventually(t, "there is room", func() bool { return !isFull() })
	if place, err := e.Take(t.Context(), first); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take by a waiter: %v, %v", place, err)
	}
	if st := status(t, e, first.Key); st.Waiting > 21 || st.Waiting < 2 {
		t.Errorf("%d wait, want those that live", st.Waiting)
	}
}
