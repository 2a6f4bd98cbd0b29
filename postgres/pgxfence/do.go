package pgxfence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/fence"
)

// Beginner begins transactions: a *pgxpool.Pool, a *pgx.Conn, or something of your own that begins them at another
// isolation level. The default level of the database is enough.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Do runs fn in a transaction of its own that has raised the mark to the token, and commits it. The transaction is
// rolled back, and nothing has happened, if the mark is larger, if fn fails or panics, if a statement has failed, or if
// ctx has ended before the commit. Work that takes several transactions calls Do several times with the same token.
//
// Within fn, do not call Do with the same mark: it would wait for itself. Pass the guard on instead. In a transaction
// of your own, use [Raise].
//
// Use the lease's context as ctx, so that nothing is committed when the lease has ended. That does not replace the
// mark: a program that was paused does not notice the end of its lease.
//
// The errors are those of [Raise] and of fn, and [fence.ErrUnknown] if the database did not say whether the transaction
// was committed. After all others it was not committed.
func Do(ctx context.Context, db Beginner, m fence.Mark, token uint64, fn func(tx *Guard) error) error {
	switch db := db.(type) {
	case pgx.Tx:
		return &fence.ValueError{Field: "database", Value: "a transaction",
			Allowed: "a *pgxpool.Pool or a *pgx.Conn; in a transaction of your own use Raise"}
	case nil:
		return missing("database", "a *pgxpool.Pool or a *pgx.Conn")
	case *pgxpool.Pool:
		if db == nil {
			return missing("database", "what pgxpool.New returns")
		}
	}
	if fn == nil {
		return missing("function", "the work to be done")
	}
	if err := m.Valid(token); err != nil {
		return err
	}
	tx, err := db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("fence: beginning a transaction: %w", err)
	}
	open := true
	defer func() {
		if open {
			rollBack(ctx, tx)
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
	return commitError(tx.Commit(ctx))
}

// rollBackTimeout is how long a rollback may take. After that, pgx closes the connection, and the server rolls back.
const rollBackTimeout = 5 * time.Second

// rollBack rolls a transaction back, also after the end of ctx, so that the connection can be used again.
func rollBack(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // another error is returned; the database rolls back what is not committed
}

// commitError says what the error of a commit means. SQLSTATE class 40 is a rollback, except for 40003, and class 23 a
// constraint that was checked at the commit.
func commitError(err error) error {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("fence: the transaction was rolled back, as a statement had failed: %w", err)
	case answered && answer.Code != "40003" &&
		(strings.HasPrefix(answer.Code, "40") || strings.HasPrefix(answer.Code, "23")):
		return fmt.Errorf("fence: the database has refused the commit: %w", err)
	}
	return fmt.Errorf("fence: %w: %w", fence.ErrUnknown, err)
}

// missing is the error for something that must be given and was not.
func missing(field, allowed string) error {
	return &fence.ValueError{Field: field, Value: "nil", Allowed: allowed}
}
