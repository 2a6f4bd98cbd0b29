package fence

import (
	"context"
	"database/sql"
)

// Guard reads and writes in a transaction that has raised a mark. It comes from [Do] or [Raise], and is good until the transaction ends. It has the methods of a *sql.Tx
// that run statements, so generated code and query builders take it for one (the DBTX of sqlc, for example). Like a transaction it is for one goroutine at a time.
//
// Do not roll back to a savepoint that was made before the mark was raised: that lowers it again.
type Guard struct {
	tx    *sql.Tx
	token uint64
}

// Token returns the token to which the mark was raised at first.
func (g *Guard) Token() uint64 { return g.token }

// Raise raises one more mark in the same transaction, for work under several locks, each with a token of its own. Who raises several does it in the same order
// everywhere, as in that of the names, or two will wait for each other until the database fails one. Read what the mark protects only after this. Errors are those of
// the function [Raise].
func (g *Guard) Raise(ctx context.Context, m Mark, token uint64) error {
	if err := m.valid(token); err != nil {
		return err
	}
	return m.raiseBy(ctx, g.tx, token)
}

// ExecContext is that of the transaction.
func (g *Guard) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return g.tx.ExecContext(ctx, query, args...)
}

// QueryContext is that of the transaction.
func (g *Guard) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return g.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext is that of the transaction.
func (g *Guard) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return g.tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext is that of the transaction.
func (g *Guard) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return g.tx.PrepareContext(ctx, query)
}
