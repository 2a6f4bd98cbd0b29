package redis

import (
	"context"
	"math"

	"github.com/leasehold-go/leasehold/driver"
)

// defaultLimit is how many entries a listing has unless the query says otherwise.
const defaultLimit = 1000

// List implements [driver.Engine]. It goes through the keys of all servers in small steps (SCAN), so it takes as long as there are
// keys, and its entries need not have existed at one moment.
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

// Walk implements [driver.Walker]. It goes through the keys of all servers in small steps first (SCAN), and then looks at the names it has found.
func (e *Engine) Walk(ctx context.Context, q driver.Query, visit func(piece []driver.Status) bool) error {
	q.Limit = math.MaxInt
	return e.walk(ctx, q, visit)
}
