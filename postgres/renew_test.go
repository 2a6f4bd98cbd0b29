package postgres_test

import (
	"sync"
	"testing"
)

// Two renewals of a lease at the same moment, by a call of Extend and by the library, both succeed.
func TestRenewalsAtTheSameMoment(t *testing.T) {
	t.Parallel()
	pool, schema := newTables(t)
	e := open(t, pool, schema)
	r := lock("a")
	mustTake(t, e, r)
	for range 50 {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := renewal(t.Context(), e, r); err != nil {
					t.Errorf("Renew: %v", err)
				}
			})
		}
		both.Wait()
	}
}
