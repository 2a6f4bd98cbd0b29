package fencing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/fence"
)

// failures lists what can go wrong in a transaction. Some failures end the transaction, in SQLite
// without saying so.
var failures = map[string]struct {
	sqliteOnly bool
	fail       func(ctx context.Context, tx *fence.Guard) error
}{
	"a statement that is none": {false, func(ctx context.Context, tx *fence.Guard) error {
		_, err := tx.ExecContext(ctx, "nonsense")
		return err
	}},
	"a row that is there already": {false, func(ctx context.Context, tx *fence.Guard) error {
		_, err := tx.QueryContext(ctx, "INSERT INTO account (id) VALUES (1) RETURNING id")
		return err
	}},
	"a row that cannot be made": {false, func(ctx context.Context, tx *fence.Guard) error {
		return tx.QueryRowContext(ctx, "INSERT INTO account (id) VALUES (1) RETURNING id").Err()
	}},
	"a statement that cannot be prepared": {false, func(ctx context.Context, tx *fence.Guard) error {
		_, err := tx.PrepareContext(ctx, "nonsense")
		return err
	}},
	"a second mark that is larger": {false, func(ctx context.Context, tx *fence.Guard) error {
		return tx.Raise(ctx, account.Mark(2), 8)
	}},
	"a conflict that rolls back": {true, func(ctx context.Context, tx *fence.Guard) error {
		_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO account (id) VALUES (1)")
		return err
	}},
	"a statement that is interrupted": {true, func(ctx context.Context, tx *fence.Guard) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := tx.ExecContext(ctx, "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n) INSERT INTO "+
			"account (id) SELECT i FROM n")
		return err
	}},
}

// onEachFailure runs a test for each failure, with rows whose marks are 0 and 9.
func onEachFailure(
	t *testing.T, test func(t *testing.T, d database, fail func(ctx context.Context, tx *fence.Guard) error),
) {
	t.Helper()
	onEach(t, func(t *testing.T, d database) {
		d.exec(t, "INSERT INTO account (id, fence) VALUES (1, 0), (2, 9)")
		for name, f := range failures {
			if f.sqliteOnly && d.name != "SQLite" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				d.exec(t, "UPDATE account SET value = '', fence = 0 WHERE id = 1")
				test(t, d, f.fail)
			})
		}
	})
}

const writeFirst = "UPDATE account SET value = 'old' WHERE id = 1"

// After a statement has failed the guard does nothing more, and nothing is committed, even if the
// program continues: in SQLite it might otherwise write without a transaction, after the next
// holder.
func TestNothingIsDoneAfterAFailure(t *testing.T) {
	t.Parallel()
	onEachFailure(t, func(t *testing.T, d database, fail func(ctx context.Context, tx *fence.Guard) error) {
		ctx := t.Context()
		var failed error
		err := fence.Do(ctx, d, account.Mark(1), 1, func(tx *fence.Guard) error {
			if failed = fail(ctx, tx); failed == nil {
				t.Fatal("it does not fail")
			}
			_, exec := tx.ExecContext(ctx, writeFirst)
			rows, query := tx.QueryContext(ctx, writeFirst+" RETURNING id")
			if query == nil {
				rows.Close()
			}
			row := tx.QueryRowContext(ctx, writeFirst+" RETURNING id").Scan(new(int))
			_, prepare := tx.PrepareContext(ctx, writeFirst)
			raise := tx.Raise(ctx, marks.Mark("another"), 1)
			for what, err := range map[string]error{"Exec": exec, "Query": query, "QueryRow": row, "Prepare": prepare,
				"Raise": raise} {
				if !errors.Is(err, failed) {
					t.Errorf("%s: %v, want %v", what, err, failed)
				}
			}
			return nil
		})
		if !errors.Is(err, failed) || errors.Is(err, fence.ErrUnknown) {
			t.Errorf("Do: %v, want %v", err, failed)
		}
		if got := d.text(t, "SELECT value || fence FROM account WHERE id = 1"); got != "0" {
			t.Errorf("the row is %q: something was written", got)
		}
	})
}

// A transaction that rolls back to a savepoint may continue, if there still is one.
func TestSavepointAfterAFailure(t *testing.T) {
	t.Parallel()
	onEachFailure(t, func(t *testing.T, d database, fail func(ctx context.Context, tx *fence.Guard) error) {
		ctx := t.Context()
		var gone error
		err := fence.Do(ctx, d, account.Mark(1), 1, func(tx *fence.Guard) error {
			_, err := tx.ExecContext(ctx, "SAVEPOINT s")
			noErr(t, err)
			failed := fail(ctx, tx)
			if _, gone = tx.ExecContext(ctx, "rollback to\nSAVEPOINT s"); gone == nil {
				_, err = tx.ExecContext(ctx, writeFirst)
				return err
			}
			if _, err := tx.ExecContext(ctx, writeFirst); !errors.Is(err, failed) {
				t.Errorf("without the transaction: %v, want %v", err, failed)
			}
			return nil
		})
		want := "old1"
		if gone != nil {
			want = "0"
		}
		if got := d.text(t, "SELECT value || fence FROM account WHERE id = 1"); got != want ||
			(err == nil) != (gone == nil) {
			t.Errorf("Do: %v; the row is %q, want %q", err, got, want)
		}
	})
}

// The documents warn of this: nested work under the same mark waits for itself.
func TestDoWithinDo(t *testing.T) {
	t.Parallel()
	d := openPostgres(t)
	other := d.session(t)
	noErr(t, fence.Do(t.Context(), d, marks.Mark("a"), 1, func(*fence.Guard) error {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- fence.Do(ctx, other, marks.Mark("a"), 1, func(*fence.Guard) error { return nil }) }()
		if !other.awaitBlocked(t, done) {
			t.Error("it does not wait: the warning is not needed")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Do: %v", err)
		}
		return nil
	}))
}

// The documents warn of this: a mark in a row is gone with the row, a mark in a table is not.
func TestRowThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		for _, c := range []struct {
			kind    string
			mark    fence.Mark
			refused bool
		}{{"column", account.Mark(1), false}, {"table", marks.Mark("account 1"), true}} {
			d.exec(t, "INSERT INTO account (id) VALUES (1)")
			noErr(t, fence.Do(t.Context(), d, c.mark, 5, func(tx *fence.Guard) error {
				_, err := tx.ExecContext(t.Context(), "DELETE FROM account WHERE id = 1")
				return err
			}))
			d.exec(t, "INSERT INTO account (id) VALUES (1)")
			if err := raise(t.Context(), d, c.mark, 4); errors.Is(err, fence.ErrStale) != c.refused ||
				!c.refused && err != nil {
				t.Errorf("%s: %v", c.kind, err)
			}
			d.exec(t, "DELETE FROM account")
		}
	})
}

// The documents warn of this: a guard's column is no version, since raising it looks like a write.
func TestMarkIsNoVersion(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		d.exec(t, "INSERT INTO account (id) VALUES (1)")
		noErr(t, raise(t.Context(), d, account.Mark(1), 5))
		err := fence.Versioned{Table: "account", Key: "id", Version: "fence"}.Write(t.Context(), d, 1, 5,
			fence.Values{"value": "new"})
		if got := d.text(t, "SELECT value FROM account"); !errors.Is(err, fence.ErrWritten) || got != "" {
			t.Errorf("%v, and the value is %q: the warning is not needed", err, got)
		}
	})
}
