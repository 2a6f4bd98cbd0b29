package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Those who were killed while they waited leave room for others, also where the lock is never let go.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	pool, schema := place(t)
	e := open(t, pool, schema)
	takes(t, e, lockFor("a", time.Minute))
	joins := func() error {
		r := lockFor("a", time.Minute)
		r.Join, r.Waiters = true, 20
		_, err := e.Take(t.Context(), r)
		if !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrCrowded) {
			t.Fatal(err)
		}
		return err
	}
	for range 20 {
		if err := joins(); errors.Is(err, driver.ErrCrowded) {
			t.Fatal("there is no room for those who live")
		}
	}
	for range 20 {
		if err := joins(); !errors.Is(err, driver.ErrCrowded) {
			t.Fatal("those who live have been taken out of the queue")
		}
	}
	// Nobody listens with this number any more, as after a kill.
	if _, err := pool.Exec(t.Context(), `UPDATE "`+schema+`".waiters SET listener = listener + 1000000000000`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is room", func() bool { return errors.Is(joins(), driver.ErrHeld) })
}
