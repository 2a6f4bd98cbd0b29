package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrLeaseLost is the error of [Engine.Guard] for a lease that has ended: it was released or taken away, it has
// expired, or the database has lost it. Compare with errors.Is.
var ErrLeaseLost = fmt.Errorf("postgres: the lease is over, so its lock does not protect this transaction: "+
	"roll it back, and take the lock again (%w)", driver.ErrNotHeld)

// Lease is what a guard needs to know of a lease. A *leasehold.Lease implements it.
type Lease interface {
	Name() string
	Token() uint64
	// Err returns why the lease has ended, or nil.
	Err() error
}

// GuardTx is what [Engine.Guard] needs of a transaction. A pgx.Tx implements it. Do not pass a pool or a connection,
// where each statement is a transaction of its own.
type GuardTx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Guard ties a transaction to a lease: the transaction is never committed after somebody else was granted the lock.
// Call Guard first in each transaction that the lock is to protect, and roll the transaction back if it returns an
// error.
//
//	tx, err := pool.Begin(ctx)
//	…
//	if err := engine.Guard(ctx, tx, lease); err != nil { … }
//	… // read and write
//	err = tx.Commit(ctx)
//
// Guard locks the row of the lease, which must still exist, until the end of the transaction. Until then nobody else is
// granted the lock, even if the lease has ended meanwhile: it has expired, was released, or was taken away by an
// operator. Renewals go on, and Release does not wait. If the server crashes, the transaction is lost together with the
// lease. Unlike a fencing token, a guard needs no column in the caller's tables, and it also protects what is only
// read.
//
// It returns ErrLeaseLost if the lease has ended. Any other error says nothing about the lease, and the transaction has
// failed.
//
// The transaction must be in the same database and must have begun after the lock was granted. It must be the outermost
// one, because rolling back to a savepoint releases what was locked after it. It must not be prepared for a two-phase
// commit, because a prepared transaction survives a crash. The user needs the rights to read and to update the table of
// holders. A guarded lease is not handed over inside this process without a request to the database.
//
// Give the engine a pool of its own, as Open does, or one that is large enough: if all connections are in transactions
// that wait for a lock, none is left to renew or to release one.
//
// A transaction that stays open keeps the lock taken. Set idle_in_transaction_session_timeout and tcp_user_timeout to
// end the transactions of programs that hang or have vanished.
//
// The lease may be a lock, exclusive or shared, or permits of a semaphore. Several goroutines may guard with the same
// lease, each in a transaction of its own. While a transaction guards an exclusive lease, Downgrade is refused.
//
// The engine must be the one of the lease's client. With another engine on the same tables, that client may still hand
// the lock over to the next caller in its process.
func (e *Engine) Guard(ctx context.Context, tx GuardTx, lease Lease) error {
	return e.runGuard(lease, func(query string, name string, token int64) (bool, error) {
		tag, err := tx.Exec(ctx, query, name, token)
		return tag.RowsAffected() > 0, err
	})
}

// GuardSQL is [Engine.Guard] for a transaction of database/sql. The driver must take parameters as $1, as those of pgx
// and lib/pq do.
func (e *Engine) GuardSQL(ctx context.Context, tx *sql.Tx, lease Lease) error {
	return e.runGuard(lease, func(query string, name string, token int64) (bool, error) {
		var kind int
		err := tx.QueryRowContext(ctx, query, name, token).Scan(&kind)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
}

// runGuard runs the query of a guard. run reports whether it has locked the row of the lease.
func (e *Engine) runGuard(lease Lease, run func(query string, name string, token int64) (bool, error)) error {
	name, token := lease.Name(), lease.Token()
	if token == 0 || token > driver.MaxToken {
		return fmt.Errorf("%w: its token is %d", ErrLeaseLost, token)
	}
	// Noted first, so that from here on the core does not hand the lock over without a request. If it has already done
	// so, the lease has ended.
	e.guarded.add(name, token)
	if cause := lease.Err(); cause != nil {
		e.guarded.remove(name, token)
		return fmt.Errorf("%w: %w", ErrLeaseLost, cause)
	}
	held, err := run(guardQuery(e.schema), name, int64(token))
	switch {
	case err != nil:
		return fmt.Errorf("postgres: guarding a transaction: %w", err)
	case !held:
		e.guarded.remove(name, token)
		return ErrLeaseLost
	}
	return nil
}

// guardQuery is the query of a guard. The tokens of all names come from one sequence, so a token distinguishes a lock
// from a semaphore of the same name.
//
// The row is locked only against removal. Renewal and release update it, but none of its key columns, so they are not
// blocked. The query may see too late that another transaction has just ended the lease, but while the row can be
// locked nobody has been granted the lock since.
func guardQuery(schema string) string {
	return fmt.Sprintf(`SELECT kind FROM %s.holders WHERE kind IN (%d, %d) AND name = $1 AND token <= $2 `+
		`AND token + tokens > $2 AND owner IS NOT NULL AND expires > clock_timestamp() FOR KEY SHARE`,
		quoted(schema), driver.Lock, driver.Semaphore)
}
