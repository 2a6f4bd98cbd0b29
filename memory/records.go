package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

// records holds the removals of locks from their holders, the oldest first.
type records struct {
	mu  sync.Mutex
	all []driver.Removal
}

// Record implements [driver.Operator].
func (e *Engine) Record(_ context.Context, r driver.Removal) error {
	e.records.mu.Lock()
	defer e.records.mu.Unlock()
	all := slices.DeleteFunc(e.records.all, func(other driver.Removal) bool { return other.ID == r.ID })
	all = append(all, r)
	slices.SortStableFunc(all, func(a, b driver.Removal) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	e.records.all = slices.Delete(all, 0, max(len(all)-driver.MaxRemovals, 0))
	return nil
}

// Records implements [driver.Operator].
func (e *Engine) Records(_ context.Context, limit int) ([]driver.Removal, error) {
	e.records.mu.Lock()
	defer e.records.mu.Unlock()
	if limit <= 0 {
		limit = driver.MaxRemovals
	}
	latest := slices.Clone(e.records.all[max(len(e.records.all)-limit, 0):])
	slices.Reverse(latest)
	return latest, nil
}
