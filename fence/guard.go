package fence

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Guard reads and writes in a transaction that has raised a mark. It comes from [Do] or [Raise], and is good until the transaction ends. It has the methods of a *sql.Tx
// that run statements, so generated code and query builders take it for one (the DBTX of sqlc, for example). Like a transaction it is for one goroutine at a time.
//
// It ends with the first statement that fails: all others then fail with that error, and [Do] commits nothing. After some errors SQLite has rolled the transaction back by itself (an interrupted
// statement, a full disk, ON CONFLICT ROLLBACK), and would run what comes then without it, and without the mark. Who goes on rolls back to a savepoint first. A guard does not see the errors of
// prepared statements, nor those of reading rows: return them.
//
// Do not roll back to a savepoint that was made before the mark was raised: that lowers it again. Nor end the transaction by a statement (COMMIT, ROLLBACK).
type Guard struct {
	tx     *sql.Tx
	token  uint64
	failed error // of the first statement that failed
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
	if err := g.over(""); err != nil {
		return err
	}
	return g.note(m.raiseBy(ctx, g.tx, token))
}

// ExecContext is that of the transaction.
func (g *Guard) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := g.over(query); err != nil {
		return nil, err
	}
	result, err := g.tx.ExecContext(ctx, query, args...)
	return result, g.note(err)
}

// QueryContext is that of the transaction.
func (g *Guard) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := g.over(query); err != nil {
		return nil, err
	}
	rows, err := g.tx.QueryContext(ctx, query, args...)
	return rows, g.note(err)
}

// QueryRowContext is that of the transaction.
func (g *Guard) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := g.over(query); err != nil {
		return new(sql.Tx).QueryRowContext(ended{ctx, err}, query) // nobody else can make a Row
	}
	row := g.tx.QueryRowContext(ctx, query, args...)
	_ = g.note(row.Err()) // Scan tells it
	return row
}

// PrepareContext is that of the transaction.
func (g *Guard) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := g.over(query); err != nil {
		return nil, err
	}
	statement, err := g.tx.PrepareContext(ctx, query)
	return statement, g.note(err)
}

// over says why a statement is not sent.
func (g *Guard) over(query string) error {
	switch {
	case g == nil || g.tx == nil:
		return missing("guard", "one that Do or Raise has returned")
	case g.failed != nil && !rollsBackTo(query):
		return fmt.Errorf("fence: nothing is done after a statement has failed: %w", g.failed)
	}
	return nil
}

// note keeps the error of a statement, until a savepoint is good again.
func (g *Guard) note(err error) error {
	if g.failed == nil || err == nil { // no other statement comes so far after a failure
		g.failed = err
	}
	return err
}

// rollsBackTo reports whether a statement rolls back to a savepoint. If there is none, since there is no transaction any more, it fails.
func rollsBackTo(query string) bool {
	n := 0
	for word := range strings.FieldsSeq(query) {
		switch word = strings.ToUpper(word); {
		case n == 0 && word == "ROLLBACK", n == 1 && (word == "TRANSACTION" || word == "WORK"):
			n++
		default:
			return n > 0 && word == "TO"
		}
	}
	return false
}

// ended is a context that has ended with an error.
type ended struct {
	context.Context
	err error
}

// Done implements context.Context.
func (ended) Done() <-chan struct{} { return alreadyClosed }

// Err implements context.Context.
func (e ended) Err() error { return e.err }

var alreadyClosed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
