package sqlite

import (
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// Waiters that were killed leave room for others, even where the lock is never released.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	mustTake(t, e, lock("a"))
	limited := func() driver.Request {
		r := lock("a")
		r.MaxWaiters = 3
		return r
	}
	living := join(t, e, limited())
	waitFor(t.Context(), e, living)
	join(t, e, limited())
	join(t, e, limited())
	eventually(t, "there is room", func() bool {
		late := limited()
		late.Join = true
		_, err := e.Take(t.Context(), late)
		if !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrTooManyWaiters) {
			t.Fatal(err)
		}
		return errors.Is(err, driver.ErrHeld)
	})
}
