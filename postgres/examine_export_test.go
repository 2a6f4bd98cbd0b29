package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// IdleGuards returns the processes of transactions that have guarded a lease in a schema for so long, and are idle.
func IdleGuards(ctx context.Context, c *pgx.Conn, schema string, long time.Duration) (pids []uint32, err error) {
	var s serverReport
	err = s.findIdleGuards(ctx, c, schema, long)
	for _, g := range s.guards {
		pids = append(pids, uint32(g.pid))
	}
	return pids, err
}

// SweepNow removes expired rows, as takes do now and then.
func SweepNow(ctx context.Context, e *Engine) error {
	var none any
	return e.ask(ctx, toLock, []any{&none}, "SELECT "+quoted(e.schema)+".sweep()::text")
}

// HintNumber is the number that identifies a ticket in messages that are not grants.
func HintNumber(ticket int64) uint64 { return hintNumber(ticket) }
