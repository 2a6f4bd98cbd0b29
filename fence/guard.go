package fence

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Guard reads and writes in a transaction that has raised a mark. [Do] and [Raise] make it, and it is valid until the
// transaction ends. It has the methods of a *sql.Tx that run statements, so generated code and query builders accept it
// (as the DBTX of sqlc, for example). Like a transaction, it must not be used by several goroutines at the same time.
//
// After the first statement that fails, all further statements fail with the same error, and [Do] does not commit. The
// reason is SQLite, which rolls the transaction back by itself after some errors (an interrupted statement, a full
// disk, ON CONFLICT ROLLBACK), and would run further statements outside of it, without the mark. To go on after an
// error, roll back to a savepoint first. A guard does not see the errors of prepared statements or of reading rows:
// return these.
//
// Do not roll back to a savepoint that was made before the mark was raised, because that lowers the mark again. Do not
// end the transaction with a statement (COMMIT, ROLLBACK).
type Guard struct {
	tx     *sql.Tx
	token  uint64
	failed error // error of the first statement that failed
}

// Token returns the token to which the first mark was raised.
func (g *Guard) Token() uint64 { return g.token }

// Raise raises one more mark in the same transaction, for work under several locks, each of which has a token of its
// own. Always raise several marks in the same order, for example that of their names. Otherwise two transactions will
// wait for each other until the database fails one of them. Read what a mark protects only after raising it. The errors
// are those of the function [Raise].
func (g *Guard) Raise(ctx context.Context, m Mark, token uint64) error {
	if err := m.Valid(token); err != nil {
		return err
	}
	if err := g.checkUsable(""); err != nil {
		return err
	}
	return g.noteError(m.raiseBy(ctx, overSQL{g.tx}, token))
}

// ExecContext runs [sql.Tx.ExecContext].
func (g *Guard) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := g.checkUsable(query); err != nil {
		return nil, err
	}
	result, err := g.tx.ExecContext(ctx, query, args...)
	return result, g.noteError(err)
}

// QueryContext runs [sql.Tx.QueryContext].
func (g *Guard) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := g.checkUsable(query); err != nil {
		return nil, err
	}
	rows, err := g.tx.QueryContext(ctx, query, args...)
	return rows, g.noteError(err)
}

// QueryRowContext runs [sql.Tx.QueryRowContext].
func (g *Guard) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := g.checkUsable(query); err != nil {
		return new(sql.Tx).QueryRowContext(endedContext{ctx, err}, query) // only package sql can make a Row
	}
	row := g.tx.QueryRowContext(ctx, query, args...)
	_ = g.noteError(row.Err()) // Scan returns it
	return row
}

// PrepareContext runs [sql.Tx.PrepareContext].
func (g *Guard) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := g.checkUsable(query); err != nil {
		return nil, err
	}
	statement, err := g.tx.PrepareContext(ctx, query)
	return statement, g.noteError(err)
}

// checkUsable returns why a statement must not be sent, or nil.
func (g *Guard) checkUsable(query string) error {
	switch {
	case g == nil || g.tx == nil:
		return missing("guard", "one that Do or Raise has returned")
	case g.failed != nil && !rollsBackTo(query):
		return fmt.Errorf("fence: nothing is done after a statement has failed: %w", g.failed)
	}
	return nil
}

// noteError stores the error of a statement, until the transaction is rolled back to a savepoint.
func (g *Guard) noteError(err error) error {
	if g.failed == nil || err == nil { // after a failure only a rollback to a savepoint gets here
		g.failed = err
	}
	return err
}

// rollsBackTo reports whether a statement rolls back to a savepoint. It fails if there is no savepoint, because the
// transaction has ended.
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

// endedContext is a context that has ended with an error.
type endedContext struct {
	context.Context
	err error
}

// Done implements context.Context.
func (endedContext) Done() <-chan struct{} { return alreadyClosed }

// Err implements context.Context.
func (e endedContext) Err() error { return e.err }

var alreadyClosed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
