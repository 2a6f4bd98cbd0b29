package pgxfence

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/fence"
)

// DB is what [Write] and [Marks] need of a database: a *pgxpool.Pool, a *pgx.Conn, a pgx.Tx or a [*Guard].
type DB interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// Write is the method Write of [fence.Versioned]: it sets columns of the row with that key, and its version to the
// token, if the version is smaller. Its errors are those of that method.
func Write(ctx context.Context, db DB, v fence.Versioned, key any, token uint64, values fence.Values) error {
	if db == nil {
		return missing("database", "a *pgxpool.Pool, *pgx.Conn, pgx.Tx or *pgxfence.Guard")
	}
	return v.WriteOver(ctx, statements{db}, key, token, values)
}

// Marks keep marks in a table of a database, for a [fence.Gate]. For writes to that same database use [Do] instead. It
// is safe for concurrent use if DB is, as a *pgxpool.Pool.
type Marks struct {
	DB    DB
	Table fence.Table
}

// Raise implements [fence.Marks]. It is one statement, without a transaction around it.
func (m Marks) Raise(ctx context.Context, name string, token uint64) error {
	if m.DB == nil {
		return missing("database", "a *pgxpool.Pool")
	}
	return fence.RaiseOver(ctx, statements{m.DB}, m.Table.Mark(name), token)
}

// statements implements fence.Statements.
type statements struct{ db DB }

// Exec implements fence.Statements.
func (s statements) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.db.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// QueryNumber implements fence.Statements.
func (s statements) QueryNumber(ctx context.Context, query string, args ...any) (n int64, found bool, err error) {
	err = s.db.QueryRow(ctx, query, args...).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}
