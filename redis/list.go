package redis

import (
	"context"
	"math"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/paging"
)

// List implements [driver.Engine]. It goes through the keys of all servers in small steps (SCAN). So it takes time in
// proportion to their number, and its entries need not have existed at the same moment.
func (e *Engine) List(ctx context.Context, q driver.Query) ([]driver.Status, error) {
	return paging.Collect(q, func(q driver.Query, visit func(piece []driver.Status) bool) error {
		return e.walk(ctx, q, visit)
	})
}

// Walk implements [driver.Operator]. It first goes through the keys of all servers in small steps (SCAN), and then
// reads the names that it found.
func (e *Engine) Walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q.Limit = math.MaxInt
	return e.walk(ctx, q, visit)
}
