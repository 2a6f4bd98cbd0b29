package pgxfence_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/postgres/pgxfence"
)

// takeOne takes one unit under a token.
func takeOne(ctx context.Context, db pgxfence.Beginner, m fence.Mark, token uint64) error {
	return pgxfence.Do(ctx, db, m, token, func(tx *pgxfence.Guard) error {
		var left int
		if err := tx.QueryRow(ctx, "SELECT units FROM stock WHERE id = 7").Scan(&left); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE stock SET units = $1 WHERE id = 7", left-1)
		return err
	})
}

// A late holder is refused, with either kind of mark, and changes nothing.
func TestALateHolderIsRefused(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]fence.Mark{
		"table":  marks.Mark("stock:7"),
		"column": fence.Column{Table: "stock", Key: "id", Token: "fence"}.Mark(7),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newStock(t)
			for _, token := range []uint64{41, 42, 42} {
				if err := takeOne(t.Context(), pool, m, token); err != nil {
					t.Fatalf("token %d: %v", token, err)
				}
			}
			err := takeOne(t.Context(), pool, m, 41)
			stale, is := errors.AsType[*fence.StaleError](err)
			if !is || !errors.Is(err, fence.ErrStale) || stale.Have != 42 || stale.Want != 41 {
				t.Errorf("the late holder got %v", err)
			}
			if left := units(t, pool); left != 7 {
				t.Errorf("%d are left, want 7", left)
			}
			// A single connection works as well, and so does a transaction of the caller's.
			err = pgxpoolConn(t, pool, func(conn *pgx.Conn) error { return takeOne(t.Context(), conn, m, 41) })
			if !errors.Is(err, fence.ErrStale) {
				t.Errorf("on a connection the late holder got %v", err)
			}
			tx := begin(t, pool)
			if g, err := pgxfence.Raise(t.Context(), tx, m, 41); !errors.Is(err, fence.ErrStale) || g != nil {
				t.Errorf("in a transaction the late holder got %v, %v", g, err)
			}
		})
	}
}

// A holder that wants to raise the mark waits for the transaction of an earlier one, and reads what that has written.
func TestTheNextHolderWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	pool := newStock(t)
	tx := begin(t, pool)
	g, err := pgxfence.Raise(t.Context(), tx, marks.Mark("stock:7"), 41)
	if err != nil || g.Token() != 41 {
		t.Fatal(g, err)
	}
	var ended atomic.Bool
	next := make(chan error, 1)
	go func() {
		err := takeOne(t.Context(), pool, marks.Mark("stock:7"), 42)
		if !ended.Load() {
			err = errors.Join(err, errors.New("it did not wait"))
		}
		next <- err
	}()
	awaitWaiter(t, pool)
	if _, err := g.Exec(t.Context(), "UPDATE stock SET units = 5 WHERE id = 7"); err != nil {
		t.Fatal(err)
	}
	ended.Store(true)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-next; err != nil {
		t.Error(err)
	}
	if left := units(t, pool); left != 4 {
		t.Errorf("%d are left, want 4", left)
	}
}

// What is rolled back has happened at no time, and has not raised the mark.
func TestATransactionThatIsRolledBack(t *testing.T) {
	t.Parallel()
	planned := errors.New("planned")
	type call struct {
		ctx    context.Context
		cancel context.CancelCauseFunc
		tx     *pgxfence.Guard
	}
	for name, c := range map[string]struct {
		fn   func(c call) error
		want error
	}{
		"the function fails":  {func(call) error { return planned }, planned},
		"the function panics": {func(call) error { panic(planned) }, planned},
		"a failed statement is ignored": {func(c call) error {
			_, _ = c.tx.Exec(c.ctx, "UPDATE stock SET units = -1 WHERE id = 7")
			return nil
		}, pgx.ErrTxCommitRollback},
		"the lease ends": {func(c call) error { c.cancel(planned); return nil }, planned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newStock(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				return pgxfence.Do(ctx, pool, marks.Mark("stock:7"), 42, func(tx *pgxfence.Guard) error {
					if _, err := tx.Exec(ctx, "UPDATE stock SET units = 0 WHERE id = 7"); err != nil {
						return err
					}
					return c.fn(call{ctx, cancel, tx})
				})
			}()
			if !errors.Is(err, c.want) || errors.Is(err, fence.ErrUnknown) {
				t.Errorf("it ended with %v", err)
			}
			if left := units(t, pool); left != 10 {
				t.Errorf("%d are left, want 10", left)
			}
			if err := takeOne(t.Context(), pool, marks.Mark("stock:7"), 41); err != nil {
				t.Errorf("the mark was raised: %v", err)
			}
			if n := pool.Stat().AcquiredConns(); n != 0 {
				t.Errorf("%d connections were not given back", n)
			}
		})
	}
}

// A deferred constraint is checked at the commit: the answer says that nothing was committed. If there is no answer,
// nobody knows.
func TestACommitThatFails(t *testing.T) {
	t.Parallel()
	pool := newStock(t)
	_, err := pool.Exec(t.Context(), "CREATE TABLE once (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	if err != nil {
		t.Fatal(err)
	}
	err = pgxfence.Do(t.Context(), pool, marks.Mark("a"), 1, func(tx *pgxfence.Guard) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO once VALUES (1), (1)")
		return err
	})
	if err == nil || errors.Is(err, fence.ErrUnknown) {
		t.Errorf("a commit that was refused: %v", err)
	}
	err = pgxfence.Do(t.Context(), pool, marks.Mark("a"), 1, func(tx *pgxfence.Guard) error {
		var me int
		if err := tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&me); err != nil {
			return err
		}
		_, err := pool.Exec(t.Context(), "SELECT pg_terminate_backend($1, 60000)", me)
		return err
	})
	if !errors.Is(err, fence.ErrUnknown) {
		t.Errorf("a commit without an answer: %v", err)
	}
}

func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // does nothing after a commit
	return tx
}

func pgxpoolConn(t *testing.T, pool *pgxpool.Pool, do func(*pgx.Conn) error) error {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	return do(conn.Conn())
}

// awaitWaiter waits until a session of this database waits for a row of the marks.
func awaitWaiter(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for waiting := 0; waiting == 0; {
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE '%"marks"%' AND pid <> pg_backend_pid()`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
