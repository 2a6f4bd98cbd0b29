package postgres

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var _ driver.Examiner = (*Engine)(nil)

// examining is for how long an examination waits for the server.
const examining = 3 * time.Second

// Examine implements [driver.Examiner]. The one place is the server that the pool leads to, and its database. It asks on one connection of the pool,
// and reads what it may.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.life.Err() != nil {
		return driver.Examination{}, errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, examining)
	defer cancel()
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return driver.Examination{}, notSent(err)
	}
	defer conn.Release()
	s, err := look(ctx, conn.Conn(), e.schema, longGuarded)
	if err != nil {
		conn.Release() // it may be the only one, and another request may follow
		return driver.Examination{}, noEffect(e.lacking(ctx, looking, explain(err)))
	}
	known, err := migrations(e.schema)
	if err != nil {
		return driver.Examination{}, driver.Permanent(err)
	}
	if !e.guard {
		s.place.Closed = 0
	}
	return driver.Examination{
		Places:   []driver.Place{s.place},
		Findings: s.judge(settled{guard: e.guard, polling: e.polling, longest: e.maxTTL, known: len(known), makes: e.tables.due.Load()}),
	}, nil
}
