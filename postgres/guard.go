package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/driver"
)

// ErrLeaseLost is the answer of [Engine.Guard] for a lease that is over: it was released or taken away, its time has passed, or the database has lost
// it. Compare with errors.Is.
var ErrLeaseLost = fmt.Errorf("postgres: the lease is over, so its lock does not protect this transaction: roll it back, and take the lock again (%w)", driver.ErrNotHeld)

// Lease is what a guard must know of a lease. A *leasehold.Lease has it.
type Lease interface {
	Name() string
	Token() uint64
	// Err returns why the lease has ended, or nil.
	Err() error
}

// GuardTx is what [Engine.Guard] needs of a transaction: a pgx.Tx has it. It is not to be a pool or a connection by itself, where each statement is a
// transaction of its own.
type GuardTx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Guard ties a transaction of the caller's to a lease, so that the transaction is never committed after somebody else was granted the lock. Call it
// in each transaction that the lock is to protect, first of all, and roll the transaction back if it returns an error.
//
//	tx, err := pool.Begin(ctx)
//	…
//	if err := engine.Guard(ctx, tx, lease); err != nil { … }
//	… // read and write
//	err = tx.Commit(ctx)
//
// It locks the row of the lease, which must still be there, until the end of the transaction. So long nobody else is granted the lock, be the lease
// over meanwhile: its time has passed, it was released, or taken away by an operator. Renewals go on, and Release does not wait. If the server
// crashes, the transaction is lost with the lease. Unlike a fencing token this needs no column in the caller's tables, and also protects what is only
// read.
//
// It returns ErrLeaseLost if the lease is over. Any other error says nothing about the lease, and the transaction has failed.
//
// The transaction must be one of the same database, begun after the lock was granted, and must be the outermost: what a savepoint has locked is let
// go when one goes back to it. It must not be prepared for a two-phase commit, which outlives a crash. The user needs the rights to read and to
// update the table of holders. A lease that was guarded is not handed on inside of this process without the database.
//
// Give the engine a pool of its own, as Open does, or one that is large enough: where all connections are in transactions that wait for a lock, none
// is left to renew or release one.
//
// A transaction that stays open keeps the lock taken: let idle_in_transaction_session_timeout and tcp_user_timeout end one whose program hangs or has
// vanished.
//
// The lease may be one on a lock or on permits of a semaphore, and shared. Many goroutines may guard with the same lease, each in a transaction of
// its own. While one is open that guards an exclusive lease, Downgrade is refused.
//
// The engine is to be the very one of the lease's client. Another one on the same tables does not keep that client from handing the lock on to the
// next of its process.
func (e *Engine) Guard(ctx context.Context, tx GuardTx, lease Lease) error {
	return e.tie(lease, func(query string, name string, token int64) (bool, error) {
		tag, err := tx.Exec(ctx, query, name, token)
		return tag.RowsAffected() > 0, err
	})
}

// GuardSQL is [Engine.Guard] for a transaction of database/sql, with a driver that takes parameters as $1, such as that of pgx or lib/pq.
func (e *Engine) GuardSQL(ctx context.Context, tx *sql.Tx, lease Lease) error {
	return e.tie(lease, func(query string, name string, token int64) (bool, error) {
		var kind int
		err := tx.QueryRowContext(ctx, query, name, token).Scan(&kind)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
}

// tie runs the query of a guard, which reports whether it has locked the row of the lease.
func (e *Engine) tie(lease Lease, run func(query string, name string, token int64) (bool, error)) error {
	name, token := lease.Name(), lease.Token()
	if token == 0 || token > driver.MaxToken {
		return fmt.Errorf("%w: its token is %d", ErrLeaseLost, token)
	}
	// First of all, so that from here on the core does not hand the lock on by itself. If it has done so before, the lease has ended.
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

// guardQuery is the query of a guard. Tokens of all names come from one sequence, so they tell a lock from a semaphore of the same name.
//
// The row is locked against removal alone: a lease that is renewed or released is updated, in none of its keys. That another transaction has just
// ended the lease may be seen too late, but as long as the row can be locked, nobody has been granted the lock since.
func guardQuery(schema string) string {
	return fmt.Sprintf(`SELECT kind FROM %s.holders WHERE kind IN (%d, %d) AND name = $1 AND token <= $2 AND token + tokens > $2 `+
		`AND owner IS NOT NULL AND expires > clock_timestamp() FOR KEY SHARE`, quoted(schema), driver.Lock, driver.Semaphore)
}
