package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/postgres"
)

// rows makes a table with two rows for a test, and returns how to lock one of them.
func rows(t *testing.T) (begin func() pgx.Tx, lock string) {
	t.Helper()
	pool, schema := newTables(t)
	table := pgx.Identifier{schema, "jobs"}.Sanitize()
	if _, err := pool.Exec(t.Context(),
		"CREATE TABLE "+table+" (id int PRIMARY KEY, done bool NOT NULL DEFAULT false); INSERT INTO "+table+" VALUES "+
			"(1), (2)"); err != nil {
		t.Fatal(err)
	}
	return func() pgx.Tx {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // most have ended
		return tx
	}, "SELECT done FROM " + table + " WHERE id = $1 FOR UPDATE NOWAIT"
}

// A row belongs to one transaction at a time, and a transaction that does not get it can go on.
func TestRowLock(t *testing.T) {
	t.Parallel()
	begin, lock := rows(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	first, second := begin(), begin()
	locks := func(tx pgx.Tx, id int, want error) {
		t.Helper()
		if err := postgres.RowLock(ctx, tx, lock, id); !errors.Is(err, want) || want == nil && err != nil {
			t.Fatalf("locking row %d: %v, want %v", id, err, want)
		}
	}
	locks(first, 1, nil)
	locks(first, 1, nil) // it has the lock
	locks(second, 1, postgres.ErrRowHeld)
	locks(second, 2, nil)
	locks(second, 3, postgres.ErrNoRow)
	locks(second, 3, pgx.ErrNoRows)
	locks(first, 2, postgres.ErrRowHeld) // what was locked before a refusal stays locked
	if err := first.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	locks(second, 1, nil)
	if _, err := second.Exec(ctx, "SELECT 1"); err != nil {
		t.Errorf("the transaction cannot go on: %v", err)
	}
	if err := second.Commit(ctx); err != nil {
		t.Error(err)
	}
}

func TestRowLockTellsOtherErrors(t *testing.T) {
	t.Parallel()
	begin, _ := rows(t)
	tx := begin()
	err := postgres.RowLock(t.Context(), tx, "SELECT FROM nothing_there FOR UPDATE NOWAIT")
	if err == nil || errors.Is(err, postgres.ErrRowHeld) || errors.Is(err, postgres.ErrNoRow) {
		t.Errorf("a table that does not exist: %v", err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the transaction cannot go on: %v", err)
	}
}

// noTx fails the test if something is sent.
type noTx struct{ t *testing.T }

func (n noTx) Begin(context.Context) (pgx.Tx, error) {
	n.t.Error("something was sent")
	return nil, errors.New("sent")
}

func TestRowLockRefusesToWait(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"",
		"SELECT FROM jobs WHERE id = $1",
		"SELECT FROM jobs WHERE id = $1 FOR UPDATE",
		"SELECT FROM jobs FOR UPDATE SKIP LOCKED",
		"SELECT 'nowait' FROM jobs FOR UPDATE",
		"SELECT FROM jobs FOR UPDATE -- NOWAIT",
		"SELECT FROM jobs FOR UPDATE /* NOWAIT */",
		`SELECT FROM jobs AS "nowait" FOR UPDATE`,
		"SELECT FROM jobs, people FOR UPDATE OF jobs FOR SHARE OF people NOWAIT",
		"SELECT $$FOR UPDATE NOWAIT$$",
		"SELECT $of$FOR UPDATE $$ NOWAIT$of$ FROM jobs",
		`SELECT E'\' NOWAIT ' FROM jobs FOR UPDATE`,
		"SELECT e'a'\n'\\' NOWAIT ' FROM jobs FOR UPDATE",
		"SELECT FROM jobs /* /* why */ NOWAIT */ FOR UPDATE",
		"SELECT FROM jobs FOR UPDATE /* NOWAIT",
		"SELECT 1 AS nowait",
	} {
		if err := postgres.RowLock(t.Context(), noTx{t}, query); !errors.Is(err, postgres.ErrRowWaits) {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// Queries that do not wait are sent.
func TestRowLockTakesAllRowLocks(t *testing.T) {
	t.Parallel()
	begin, lock := rows(t)
	for _, end := range []string{"for update nowait", "FOR NO KEY UPDATE NOWAIT", "FOR SHARE\nNOWAIT;",
		"FOR KEY SHARE NOWAIT", "AND 'it''s for update' <> '' FOR UPDATE NOWAIT FOR SHARE NOWAIT",
		`AND E'\' for update' <> '\' FOR UPDATE NOWAIT`, "AND $of$for update $$$of$ <> '' FOR UPDATE NOWAIT",
		"/* /**/ for update */ FOR UPDATE NOWAIT"} {
		tx := begin()
		query := strings.Replace(lock, "FOR UPDATE NOWAIT", end, 1)
		if err := postgres.RowLock(t.Context(), tx, query, 1); err != nil {
			t.Errorf("%q: %v", query, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
