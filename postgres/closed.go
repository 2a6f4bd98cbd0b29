package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// closedForStatement asks for how many microseconds nothing is granted. If nobody has noticed a crash yet, the longest
// lease counts from now, that of the caller included. The innermost query does what the SQL function here does, whose
// search path others can write to.
const closedForStatement = `SELECT coalesce(max(CASE WHEN opens > clock_timestamp()
		THEN extract(epoch FROM opens - clock_timestamp())::numeric * 1000000::numeric ELSE 0::numeric END),
		(SELECT greatest(extract(epoch FROM longest)::numeric * 1000000::numeric, $1::bigint)
			FROM leasehold.meta WHERE id = 1))::bigint
	FROM leasehold.alive WHERE id = (SELECT hashtextextended(origin.id::text, base.oid::bigint)
		FROM leasehold.origin, pg_catalog.pg_database base
		WHERE origin.one = 1 AND base.datname = current_database())`

// GrantsClosed implements [driver.Operator].
func (e *Engine) GrantsClosed(ctx context.Context, _ driver.Key) (*driver.GrantsClosedError, error) {
	if !e.guard {
		return nil, nil
	}
	var micros int64
	err := e.inTransaction(ctx, toLook, readOnlySnapshot, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, e.statements.closedFor, e.maxTTL.Microseconds()).Scan(&micros)
	})
	if err != nil || micros <= 0 {
		return nil, err
	}
	return newClosedError(time.Duration(micros) * time.Microsecond), nil
}
