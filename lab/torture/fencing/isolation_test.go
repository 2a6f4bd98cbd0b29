package fencing

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold-go/leasehold/fence"
)

// serializationFailure is PostgreSQL's error code for a transaction that must begin again.
const serializationFailure = "40001"

func state(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// From REPEATABLE READ on, PostgreSQL refuses a transaction that read something before it raised
// the mark if somebody has raised the mark meanwhile, whatever the tokens.
func TestSnapshotBeforeTheRaise(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		for kind, m := range map[string]fence.Mark{"table": marks.Mark(level.String()),
			"column": account.Mark(int(level))} {
			d.exec(t, "INSERT INTO account (id) VALUES ($1) ON CONFLICT DO NOTHING", int(level))
			noErr(t, raise(t.Context(), d, m, 1))
			late := d.begin(t, level)
			var value string
			noErr(t,
				late.QueryRowContext(t.Context(), "SELECT value FROM account WHERE id = $1", int(level)).Scan(&value))
			noErr(t, raise(t.Context(), d, m, 2))
			_, err := fence.Raise(t.Context(), late, m, 3)
			if state(err) != serializationFailure || errors.Is(err, fence.ErrStale) {
				t.Errorf("%v, %s: %v, want SQLSTATE %s", level, kind, err, serializationFailure)
			}
			noErr(t, late.Rollback())
			// In a new transaction that raises first, the same token passes.
			again := d.begin(t, level)
			_, err = fence.Raise(t.Context(), again, m, 3)
			noErr(t, err)
			noErr(t, again.Commit())
		}
	}
}

// A mark that the snapshot does not show at all is refused as well.
func TestSnapshotBeforeTheFirstRaise(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	late := d.begin(t, sql.LevelRepeatableRead)
	var n int
	noErr(t, late.QueryRowContext(t.Context(), "SELECT count(*) FROM account").Scan(&n))
	noErr(t, raise(t.Context(), d, marks.Mark("a"), 1))
	if _, err := fence.Raise(t.Context(), late, marks.Mark("a"), 2); state(err) != serializationFailure {
		t.Errorf("Raise: %v, want SQLSTATE %s", err, serializationFailure)
	}
	noErr(t, late.Rollback())
}

// Even a transaction that raises first can be refused, if it had to wait for another one.
func TestRaiseThatWaitedInASnapshot(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	m := marks.Mark("a")
	noErr(t, raise(t.Context(), d, m, 1))
	a, b := d.session(t), d.session(t)
	txA := a.begin(t)
	_, err := fence.Raise(t.Context(), txA, m, 2)
	noErr(t, err)
	txB, err := b.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	noErr(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := fence.Raise(t.Context(), txB, m, 3)
		done <- err
	}()
	if !b.awaitBlocked(t, done) {
		t.Error("the second does not wait")
	}
	noErr(t, txA.Commit())
	if err := <-done; state(err) != serializationFailure {
		t.Errorf("Raise: %v, want SQLSTATE %s", err, serializationFailure)
	}
	noErr(t, txB.Rollback())
}

// levels is a Beginner with another isolation level than the database's default.
type levels struct {
	database
	level sql.IsolationLevel
}

func (l levels) BeginTx(ctx context.Context, _ *sql.TxOptions) (*sql.Tx, error) {
	return l.DB.BeginTx(ctx, &sql.TxOptions{Isolation: l.level})
}

// What is read after raising is up to date at every level, and stale tokens are refused as stale.
func TestIsolationLevels(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	d.exec(t, "INSERT INTO account (id) VALUES (1)")
	token := uint64(0)
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		for range 3 {
			token++
			noErr(t, fence.Do(t.Context(), levels{d, level}, account.Mark(1), token, func(tx *fence.Guard) error {
				_, err := tx.ExecContext(t.Context(), "UPDATE account SET value = value || 'x' WHERE id = 1")
				return err
			}))
			if token > 1 {
				stale(t, fence.Do(t.Context(), levels{d, level}, account.Mark(1), token-1,
					func(*fence.Guard) error { return nil }), token, token-1)
			}
		}
	}
	if got := d.text(t, "SELECT value FROM account"); got != "xxxxxxxxx" {
		t.Errorf("the value is %q", got)
	}
}

// A constraint that is checked at the commit undoes everything, and the outcome is known.
func TestCommitThatIsRefused(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	d.exec(t, "CREATE TABLE late (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	err := fence.Do(t.Context(), d, marks.Mark("a"), 5, func(tx *fence.Guard) error {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO late VALUES (1), (1)")
		return err
	})
	if err == nil || errors.Is(err, fence.ErrUnknown) || state(err) != "23505" {
		t.Errorf("Do: %v, want SQLSTATE 23505", err)
	}
	noErr(t, raise(t.Context(), d, marks.Mark("a"), 1))
}

// A connection that breaks during the commit leaves the outcome unknown.
func TestCommitThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	c := d.session(t)
	err := fence.Do(t.Context(), c, marks.Mark("a"), 5, func(*fence.Guard) error {
		d.exec(t, "SELECT pg_terminate_backend($1, 20000)", c.pid)
		return nil
	})
	if !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("Do: %v, want ErrUnknown", err)
	}
}

// A holder that pauses in the middle of a transaction keeps the next one waiting, until PostgreSQL
// ends its session: idle_in_transaction_session_timeout. Then it cannot commit.
func TestHolderThatStopsInItsTransaction(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	d.exec(t, "INSERT INTO account (id) VALUES (1)")
	old := d.session(t)
	_, err := old.ExecContext(t.Context(), "SET idle_in_transaction_session_timeout = '2s'")
	noErr(t, err)
	err = fence.Do(t.Context(), old, account.Mark(1), 1, func(tx *fence.Guard) error {
		_, err := tx.ExecContext(t.Context(), "UPDATE account SET value = 'old'")
		noErr(t, err)
		// The new holder waits for as long as the server tolerates the old one.
		noErr(t, raise(t.Context(), d, account.Mark(1), 2))
		return nil
	})
	if err == nil {
		t.Error("the old holder has committed")
	}
	if got := d.text(t, "SELECT value FROM account"); got != "" {
		t.Errorf("the value is %q", got)
	}
}

// In SQLite, a transaction that has read and then raises is refused if somebody has written
// meanwhile.
func TestSnapshotBeforeTheRaiseInSQLite(t *testing.T) {
	t.Parallel()
	d := openSQLite(t, waits)
	d.exec(t, "INSERT INTO account (id) VALUES (1)")
	late, err := d.BeginTx(t.Context(), nil)
	noErr(t, err)
	var value string
	noErr(t, late.QueryRowContext(t.Context(), "SELECT value FROM account").Scan(&value))
	noErr(t, raise(t.Context(), d, account.Mark(1), 2))
	if _, err := fence.Raise(t.Context(), late, account.Mark(1), 3); !d.busy(err) {
		t.Errorf("Raise: %v, want SQLITE_BUSY", err)
	}
	noErr(t, late.Rollback())
}

// With BEGIN IMMEDIATE a transaction waits when it begins, even if it reads first.
func TestImmediateTransactionsOfSQLite(t *testing.T) {
	t.Parallel()
	d := openSQLite(t, "&_txlock=immediate") // nobody waits, so blocking shows at once
	d.exec(t, "INSERT INTO account (id) VALUES (1)")
	first, err := d.BeginTx(t.Context(), nil)
	noErr(t, err)
	_, err = fence.Raise(t.Context(), first, account.Mark(1), 1)
	noErr(t, err)
	if second, err := d.BeginTx(t.Context(), nil); !d.busy(err) {
		t.Errorf("a second transaction begins: %v", err)
		if err == nil {
			second.Rollback()
		}
	}
	noErr(t, first.Commit())
	noErr(t, raise(t.Context(), d, account.Mark(1), 2))
}

// With a busy timeout, transactions that raise first wait for each other, though they are deferred.
func TestDeferredTransactionsOfSQLiteWait(t *testing.T) {
	t.Parallel()
	d := openSQLite(t, waits)
	d.exec(t, "INSERT INTO account (id) VALUES (1)")
	inside, done := make(chan struct{}), make(chan error, 1)
	noErr(t, fence.Do(t.Context(), d, account.Mark(1), 1, func(tx *fence.Guard) error {
		go func() {
			close(inside)
			done <- raise(context.Background(), d, account.Mark(1), 2)
		}()
		<-inside
		if len(done) > 0 {
			t.Errorf("the second does not wait: %v", <-done)
		}
		_, err := tx.ExecContext(t.Context(), "UPDATE account SET value = 'first'")
		return err
	}))
	noErr(t, <-done)
}

// A savepoint from before the raise takes the mark back: the documents warn of this.
func TestSavepointFromBeforeTheRaise(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		tx, err := d.BeginTx(t.Context(), nil)
		noErr(t, err)
		_, err = tx.ExecContext(t.Context(), "SAVEPOINT s")
		noErr(t, err)
		_, err = fence.Raise(t.Context(), tx, marks.Mark("a"), 2)
		noErr(t, err)
		_, err = tx.ExecContext(t.Context(), "ROLLBACK TO SAVEPOINT s")
		noErr(t, err)
		noErr(t, tx.Commit())
		noErr(t, raise(t.Context(), d, marks.Mark("a"), 1))
	})
}
