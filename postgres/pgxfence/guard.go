package pgxfence

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/fence"
)

// Guard reads and writes in a transaction that has raised a mark. [Do] and [Raise] make it, and it is valid until the
// transaction ends. It has the methods of a pgx.Tx that run statements, so generated code accepts it (as the DBTX of
// sqlc, for example), and none that end the transaction. Like a transaction, it must not be used by several goroutines
// at the same time.
//
// Do not roll back to a savepoint that was made before the mark was raised, because that lowers the mark again. Do not
// end the transaction with a statement (COMMIT, ROLLBACK).
type Guard struct {
	tx     pgx.Tx
	token  uint64
	failed error // of the first mark that could not be raised
}

// Raise raises the mark to the token in the caller's transaction, and returns a guard for reading and writing in it, as
// [fence.Raise] does. It must be the first statement of the transaction: what was read before it may be out of date.
// [Do] rules that mistake out. Roll back after any error. The errors are those of fence.Raise.
func Raise(ctx context.Context, tx pgx.Tx, m fence.Mark, token uint64) (*Guard, error) {
	if tx == nil {
		return nil, missing("transaction", "one that has just begun")
	}
	if err := fence.RaiseOver(ctx, statements{tx}, m, token); err != nil {
		return nil, err
	}
	return &Guard{tx: tx, token: token}, nil
}

// Token returns the token to which the first mark was raised.
func (g *Guard) Token() uint64 { return g.token }

// Raise raises one more mark in the same transaction, for work under several locks, each of which has a token of its
// own. Always raise several marks in the same order, for example that of their names. Otherwise two transactions will
// wait for each other until the database fails one of them. Read what a mark protects only after raising it. The errors
// are those of the function [Raise]. An error rolls the transaction back, so that nothing is written without the mark:
// all that follows fails with [pgx.ErrTxClosed], and [Do] returns the error, even if the caller ignores it.
func (g *Guard) Raise(ctx context.Context, m fence.Mark, token uint64) error {
	if g.failed != nil {
		return g.failed
	}
	if err := fence.RaiseOver(ctx, statements{g.tx}, m, token); err != nil {
		g.failed = err
		rollBack(ctx, g.tx)
		return err
	}
	return nil
}

// Exec runs Exec of the transaction.
func (g *Guard) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return g.tx.Exec(ctx, query, args...)
}

// Query runs Query of the transaction.
func (g *Guard) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return g.tx.Query(ctx, query, args...)
}

// QueryRow runs QueryRow of the transaction.
func (g *Guard) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return g.tx.QueryRow(ctx, query, args...)
}

// SendBatch runs SendBatch of the transaction.
func (g *Guard) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return g.tx.SendBatch(ctx, b)
}

// CopyFrom runs CopyFrom of the transaction.
func (g *Guard) CopyFrom(
	ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource,
) (int64, error) {
	return g.tx.CopyFrom(ctx, table, columns, rows)
}
