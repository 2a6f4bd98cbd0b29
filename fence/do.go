package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Beginner begins transactions: a *sql.DB, a *sql.Conn, or something of your own that asks them for another isolation
// level. The default level of the database is enough.
type Beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// Do runs fn in a transaction of its own that has raised the mark to the token, and commits it. The transaction is
// rolled back, and nothing has happened, if the mark is larger, if fn fails or panics, or if a statement of the guard
// has failed. Work that takes several transactions calls Do several times with the same token.
//
// Within fn, do not call Do with the same mark: it would wait for itself. Pass the guard on instead.
//
// If ctx is the lease's context, the transaction is rolled back when the lease ends. That usually happens before the
// mark would refuse the token, but it does not replace the mark: a program that was paused does not notice the end of
// its lease.
//
// The errors are those of [Raise] and of fn, and [ErrUnknown] if the database did not say whether the transaction was
// committed. After all others it was not committed.
func Do(ctx context.Context, db Beginner, m Mark, token uint64, fn func(tx *Guard) error) error {
	switch {
	case isNil(db):
		return missing("database", "a *sql.DB")
	case fn == nil:
		return missing("function", "the work to be done")
	}
	if err := m.Valid(token); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fence: beginning a transaction: %w", err)
	}
	if tx == nil {
		return missing("transaction", "what BeginTx returns without an error")
	}
	open := true
	defer func() {
		if open {
			_ = tx.Rollback() // another error is returned; the database rolls back what is not committed
		}
	}()
	g, err := Raise(ctx, tx, m, token)
	if err != nil {
		return err
	}
	if err := fn(g); err != nil {
		return err
	}
	switch { // the commit has not been sent, so the outcome is known
	case ctx.Err() != nil:
		return fmt.Errorf("fence: before the commit: %w", context.Cause(ctx))
	case g.failed != nil: // fn has ignored the error
		return g.failed
	}
	open = false
	return commitError(tx.Commit())
}

// isNil reports whether there is no database: nil, or a nil pointer of one of the known types.
func isNil(db any) bool {
	switch db := db.(type) {
	case nil:
		return true
	case *sql.DB:
		return db == nil
	case *sql.Conn:
		return db == nil
	case *sql.Tx:
		return db == nil
	case *Guard:
		return db == nil
	}
	return false
}

// commitError says what the error of a commit means.
func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("fence: the transaction was rolled back before the commit, as its context has ended: %w", err)
	case isRefusedCommit(err):
		return fmt.Errorf("fence: the database has refused the commit: %w", err)
	}
	return fmt.Errorf("fence: %w: %w", ErrUnknown, err)
}

// isRefusedCommit reports whether a database has said that it did not commit. Drivers of PostgreSQL return its
// SQLSTATE: class 40 is a rollback, except for 40003, and class 23 a constraint that was checked at the commit. See
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func isRefusedCommit(err error) bool {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return false
	}
	state := e.SQLState()
	return state != "40003" && (strings.HasPrefix(state, "40") || strings.HasPrefix(state, "23"))
}
