package redis

import (
	"context"
	"math"

	"github.com/leasehold-go/leasehold/driver"
)

// defaultLimit is how many entries a listing has at most, unless the query has a limit.
const defaultLimit = 1000

// List implements [driver.Engine]. It goes through the keys of all servers in small steps (SCAN). So it takes time in
// proportion to their number, and its entries need not have existed at the same moment.
func (e *Engine) List(ctx context.Context, q driver.Query) (page []driver.Status, err error) {
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Progress = nil
	err = e.walk(ctx, q, func(piece []driver.Status) bool {
		page = append(page, piece...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Walk implements [driver.Walker]. It first goes through the keys of all servers in small steps (SCAN), and then reads
// the names that it found.
func (e *Engine) Walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q.Limit = math.MaxInt
	return e.walk(ctx, q, visit)
}
