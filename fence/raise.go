package fence

import (
	"context"
	"database/sql"
	"fmt"
)

// Raise raises the mark to the token in the caller's transaction, and returns a guard for reading and writing in it.
// Raise is one statement, which locks the row of the mark. Until the transaction has ended, others that want to raise
// the mark wait. (In SQLite all other writers wait.) A token that is equal to the mark passes, so a lease may have any
// number of transactions.
//
// Raise must be the first statement of the transaction. What was read before it may be out of date, and must not be the
// base of a write. [Do] rules that mistake out.
//
// Roll back after any error. The error is an [ErrStale] if the mark is larger than the token; an [ErrNoRow] or an
// [ErrNotUnique] of a [Column]; or an [ErrInvalid] if nothing was sent because a value is not allowed. All others are
// those of the database. A database may refuse by its own rules, because somebody else was faster or is slow:
// PostgreSQL with SQLSTATE 40001 at REPEATABLE READ and above, SQLite with SQLITE_BUSY. Then begin the transaction
// again with the same token.
func Raise(ctx context.Context, tx *sql.Tx, m Mark, token uint64) (*Guard, error) {
	if tx == nil {
		return nil, missing("transaction", "one that has just begun")
	}
	if err := m.Valid(token); err != nil {
		return nil, err
	}
	if err := m.raiseBy(ctx, overSQL{tx}, token); err != nil {
		return nil, err
	}
	return &Guard{tx: tx, token: token}, nil
}

// Valid returns a [*ValueError] if the mark cannot be raised to a token, and nil otherwise. It sends nothing.
func (m Mark) Valid(token uint64) error {
	switch {
	case m.err != nil:
		return m.err
	case m.update == "":
		return missing("mark", "what Table.Mark or Column.Mark returns")
	}
	return validToken(token)
}

// Executor is what this package needs of a database: a *sql.DB, *sql.Conn, *sql.Tx or [*Guard].
type Executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// maxTries is how often a row may appear or vanish between the update and the query that looks for it.
const maxTries = 3

// raiseBy raises a valid mark to a valid token.
func (m Mark) raiseBy(ctx context.Context, db Statements, token uint64) error {
	for range maxTries {
		rows, err := db.Exec(ctx, m.update, int64(token), m.key)
		switch {
		case err != nil:
			return fmt.Errorf("fence: raising the mark of %q: %w", shortened(m.name), err)
		case rows == 1:
			return nil
		case rows > 1:
			return fmt.Errorf("fence: raising the mark of %q: %w", shortened(m.name), ErrNotUnique)
		}
		have, found, err := db.QueryNumber(ctx, m.read, m.key)
		switch {
		case err != nil:
			return fmt.Errorf("fence: looking at the mark of %q: %w", shortened(m.name), err)
		case found && have > int64(token):
			return &StaleError{Name: m.name, Have: uint64(have), Want: token}
		case !found && !m.table:
			return fmt.Errorf("fence: raising the mark of %q: %w", shortened(m.name), ErrNoRow)
		}
		// The row has appeared or vanished between the two statements.
	}
	return fmt.Errorf("fence: the row with the mark of %q comes and goes: nobody may delete it while it is in use",
		shortened(m.name))
}
