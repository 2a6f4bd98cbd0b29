package sqlite

import (
	"errors"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// Those who were killed while they waited leave room for others, also where the lock is never let go.
func TestTheDeadDoNotFillAQueue(t *testing.T) {
	t.Parallel()
	e := openFile(t, newPath(t))
	mustTake(t, e, lock("a"))
	limited := func() driver.Request {
		r := lock("a")
		r.Waiters = 3
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
		if !errors.Is(err, driver.ErrHeld) && !errors.Is(err, driver.ErrCrowded) {
			t.Fatal(err)
		}
		return errors.Is(err, driver.ErrHeld)
	})
}
