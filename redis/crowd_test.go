package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Those who were killed while they waited leave room for others, also where the lock is never let go.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	takes(t, e, lasting("a", time.Minute))
	joining := func() driver.Request {
		r := lasting("a", time.Minute)
		r.Join, r.Waiters = true, 21
		return r
	}
	first := joining()
	waits(t, e, joins(t, e, first))
	awaitEars(t, s, 1)
	queueUp(t, s, "a", 20, "P", 30*time.Second)
	crowded := func() bool {
		t.Helper()
		_, err := e.Take(t.Context(), joining())
		if err != nil && !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrCrowded) {
			t.Fatal(err)
		}
		return errors.Is(err, driver.ErrCrowded)
	}
	for range 30 {
		if !crowded() {
			t.Fatal("those who may still live have been taken out of the queue")
		}
	}
	unheardFor(t, s, "{lock:a}:info", 2*time.Minute)
	eventually(t, "there is room", func() bool { return !crowded() })
	if place, err := e.Take(t.Context(), first); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take by one who waits: %v, %v", place, err)
	}
	if st := status(t, e, first.Key); st.Waiting > 21 || st.Waiting < 2 {
		t.Errorf("%d wait, want those who live", st.Waiting)
	}
}
