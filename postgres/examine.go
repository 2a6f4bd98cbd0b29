package postgres

import (
	"context"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/exposure"
)

// examineTimeout is how long an examination waits for the server.
const examineTimeout = 3 * time.Second

// Examine implements [driver.Operator]. It examines one server, the one that the pool leads to, and its database. It
// uses one connection of the pool, and reads what the user may read.
func (e *Engine) Examine(ctx context.Context) (driver.Examination, error) {
	if e.ctx.Err() != nil {
		return driver.Examination{}, errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return driver.Examination{}, explainNotSent(err)
	}
	defer conn.Release()
	s, err := askServer(ctx, conn.Conn(), e.schema, idleGuardLimit)
	if err != nil {
		conn.Release() // the pool may have only this connection, and another request may follow
		return driver.Examination{}, noEffect(e.explainMissingRight(ctx, toLook, explain(err)))
	}
	known, err := migrations(e.schema)
	if err != nil {
		return driver.Examination{}, driver.Permanent(err)
	}
	if !e.guard {
		s.server.Closed = 0
	}
	findings := s.judge(engineSettings{
		guard:        e.guard,
		polling:      e.polling,
		longestTTL:   e.maxTTL,
		knownVersion: len(known),
		canMigrate:   e.tables.pending.Load(),
	})
	return driver.Examination{
		Servers:  []driver.Server{s.server},
		Findings: append(findings, exposure.FindReadable(e.secretFiles...)...),
	}, nil
}
