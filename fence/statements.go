package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Statements runs the statements of this package over another library than database/sql. Package pgxfence, in the
// module postgres, has it for pgx. Most programs need neither: they call [Do], [Raise] and [Versioned.Write].
type Statements interface {
	// Exec runs a statement, and returns how many rows it has changed.
	Exec(ctx context.Context, query string, args ...any) (rows int64, err error)
	// QueryNumber runs a query for one number, and reports whether there was a row.
	QueryNumber(ctx context.Context, query string, args ...any) (n int64, found bool, err error)
}

// RaiseOver is [Raise] over another library. It begins no transaction: db runs statements in one that has just begun,
// or else the mark is raised alone, as with [Marks].
func RaiseOver(ctx context.Context, db Statements, m Mark, token uint64) error {
	if db == nil {
		return missing("database", "something that runs statements")
	}
	if err := m.Valid(token); err != nil {
		return err
	}
	return m.raiseBy(ctx, db, token)
}

// WriteOver is [Versioned.Write] over another library.
func (v Versioned) WriteOver(ctx context.Context, db Statements, key any, token uint64, values Values) error {
	if db == nil {
		return missing("database", "something that runs statements")
	}
	return v.write(ctx, db, key, token, values)
}

// overSQL is Statements over database/sql.
type overSQL struct{ db Executor }

// Exec implements Statements.
func (o overSQL) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := o.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("the driver does not say how many rows were changed: %w", err)
	}
	return rows, nil
}

// QueryNumber implements Statements.
func (o overSQL) QueryNumber(ctx context.Context, query string, args ...any) (n int64, found bool, err error) {
	err = o.db.QueryRowContext(ctx, query, args...).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}
