package postgres_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/postgres"
)

// The transaction is committed only if the lock was held all the time, whatever has happened to the process meanwhile.
// The lease is one of package leasehold, and the database is that of the engine.
func ExampleEngine_Guard() {
	withdraw := func(
		ctx context.Context, pool *pgxpool.Pool, engine *postgres.Engine, lease postgres.Lease, account, cents int64,
	) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
		if err := engine.Guard(ctx, tx, lease); err != nil {
			return err // postgres.ErrLeaseLost: nothing was written
		}
		_, err = tx.Exec(ctx, "UPDATE accounts SET balance = balance - $2 WHERE id = $1", account, cents)
		if err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	_ = withdraw
}

// A worker takes a job that nobody else works on, or leaves it. It needs no engine as long as the work is done in the
// transaction.
func ExampleRowLock() {
	work := func(ctx context.Context, pool *pgxpool.Pool, job int64) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // does nothing after Commit
		err = postgres.RowLock(ctx, tx, "SELECT FROM jobs WHERE id = $1 AND NOT done FOR UPDATE NOWAIT", job)
		if errors.Is(err, postgres.ErrRowHeld) || errors.Is(err, postgres.ErrNoRow) {
			return nil // somebody works on it, or has done it
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE jobs SET done = true WHERE id = $1", job); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	_ = work
}
