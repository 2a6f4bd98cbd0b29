package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/driver"
)

// Record implements [driver.Operator]. Records survive a crash of the server.
func (e *Engine) Record(ctx context.Context, r driver.Removal) error {
	err := e.inTransaction(ctx, toRecord, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, e.statements.writeRecord, r.ID, r.At, int16(r.Kind), r.Name, int64(r.Token),
			r.Holder, r.By, r.Why, int16(r.Outcome))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, e.statements.trimRecords, int32(driver.MaxRemovals))
		return err
	})
	return err
}

// Records implements [driver.Operator].
func (e *Engine) Records(ctx context.Context, limit int) (all []driver.Removal, err error) {
	if limit <= 0 || limit > driver.MaxRemovals {
		limit = driver.MaxRemovals
	}
	err = e.inTransaction(ctx, toLook, readOnlySnapshot, func(tx pgx.Tx) error {
		var r driver.Removal
		dest := []any{&r.ID, &r.At, &r.Kind, &r.Name, &r.Token, &r.Holder, &r.By, &r.Why, &r.Outcome}
		return forEachRow(ctx, tx, dest, func() {
			r.At = r.At.UTC().Truncate(time.Microsecond)
			all = append(all, r)
		}, e.statements.readRecords, int32(limit))
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// readOnlySnapshot lets several statements read the state of one moment without blocking anybody.
var readOnlySnapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// inTransaction runs f in a transaction. If there are no tables yet, it makes them, or does nothing if the transaction
// is read-only.
func (e *Engine) inTransaction(ctx context.Context, of purpose, o pgx.TxOptions, f func(pgx.Tx) error) error {
	if o.AccessMode == pgx.ReadOnly {
		if empty, err := e.hasNoTables(ctx); empty || err != nil {
			return err
		}
	} else if err := e.makeTables(ctx); err != nil {
		return err
	}
	if e.ctx.Err() != nil {
		return errClosed
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return explainNotSent(err)
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, o)
	if err != nil {
		return noEffect(explain(err))
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
	if err := f(tx); err != nil {
		_ = tx.Rollback(ctx)
		conn.Release() // the pool may have only this connection, and another request may follow
		return noEffect(e.explainMissingRight(ctx, of, explain(err)))
	}
	return explain(tx.Commit(ctx))
}

// forEachRow scans each row into dest and then calls f.
func forEachRow(ctx context.Context, tx pgx.Tx, dest []any, f func(), query string, args ...any) error {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, dest, func() error {
		f()
		return nil
	})
	return err
}
