package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Waiters that were killed make room for others, even if the lock is never released.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	mustTake(t, e, lockFor("a", time.Minute))
	joins := func() error {
		r := lockFor("a", time.Minute)
		r.Join, r.MaxWaiters = true, 20
		_, err := e.Take(t.Context(), r)
		if !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrTooManyWaiters) {
			t.Fatal(err)
		}
		return err
	}
	for range 20 {
		if err := joins(); errors.Is(err, driver.ErrTooManyWaiters) {
			t.Fatal("there is no room for live waiters")
		}
	}
	for range 20 {
		if err := joins(); !errors.Is(err, driver.ErrTooManyWaiters) {
			t.Fatal("live waiters were removed from the queue")
		}
	}
	// Nobody listens with this number any more, as after a kill.
	if _, err := pool.Exec(t.Context(),
		`UPDATE "`+schema+`".waiters SET listener = listener + 1000000000000`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is room", func() bool { return errors.Is(joins(), driver.ErrHeld) })
}
