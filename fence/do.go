package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Beginner begins transactions: a *sql.DB, a *sql.Conn, or something of your own that asks them for another isolation level. That of the database is enough.
type Beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// Do runs fn in a transaction of its own that has raised the mark to the token, and commits it. If the mark is larger, fn fails or panics, or a statement of the guard has failed, it is
// rolled back, and nothing has happened. Work that takes several transactions calls Do several times with the same token.
//
// Within fn, do not call Do with the same mark: it would wait for itself. Pass the guard on instead.
//
// If ctx is the lease's, the transaction is rolled back when the lease ends. That comes sooner than the mark can tell, but does not replace it: a program that was paused
// does not notice.
//
// Errors are those of [Raise] and of fn, and [ErrUnknown] if the database did not say whether the transaction was committed. All but the last mean that it was not.
func Do(ctx context.Context, db Beginner, m Mark, token uint64, fn func(tx *Guard) error) error {
	switch {
	case isNil(db):
		return missing("database", "a *sql.DB")
	case fn == nil:
		return missing("function", "the work to be done")
	}
	if err := m.valid(token); err != nil {
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
			_ = tx.Rollback() // the error to be told is another one; the database rolls back what is not committed
		}
	}()
	g, err := Raise(ctx, tx, m, token)
	if err != nil {
		return err
	}
	if err := fn(g); err != nil {
		return err
	}
	switch { // the commit has not been sent: that is no unknown outcome
	case ctx.Err() != nil:
		return fmt.Errorf("fence: before the commit: %w", context.Cause(ctx))
	case g.failed != nil: // and fn has not told
		return g.failed
	}
	open = false
	return committed(tx.Commit())
}

// isNil reports whether there is no database, also if it is one of a type.
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

// committed says what the error of a commit means.
func committed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("fence: the transaction was rolled back before the commit, as its context has ended: %w", err)
	case refused(err):
		return fmt.Errorf("fence: the database has refused the commit: %w", err)
	}
	return fmt.Errorf("fence: %w: %w", ErrUnknown, err)
}

// refused reports whether a database has said that it did not commit. Drivers of PostgreSQL tell its SQLSTATE: class 40 is a rollback, but for 40003, and 23 a
// constraint that was checked in the end. See https://www.postgresql.org/docs/current/errcodes-appendix.html.
func refused(err error) bool {
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
