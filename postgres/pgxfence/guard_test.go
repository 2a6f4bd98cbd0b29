package pgxfence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/postgres/pgxfence"
)

// All methods of the guard run in its transaction.
func TestTheGuardRunsStatementsInItsTransaction(t *testing.T) {
	t.Parallel()
	pool := newStock(t)
	ctx := t.Context()
	tx := begin(t, pool)
	g, err := pgxfence.Raise(ctx, tx, marks.Mark("a"), 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Raise(ctx, marks.Mark("b"), 9); err != nil {
		t.Fatal(err)
	}
	b := &pgx.Batch{}
	b.Queue("INSERT INTO stock VALUES (8, 1)")
	if err := g.SendBatch(ctx, b).Close(); err != nil {
		t.Fatal(err)
	}
	n, err := g.CopyFrom(ctx, pgx.Identifier{"stock"}, []string{"id", "units"}, pgx.CopyFromRows([][]any{{9, 1}}))
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
	rows, err := g.Query(ctx, "SELECT id FROM stock ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(ids) != 3 {
		t.Errorf("the transaction sees %v, %v", ids, err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM stock").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d rows are left, %v", left, err)
	}
	// The marks were rolled back as well.
	for _, name := range []string{"a", "b"} {
		if err := (pgxfence.Marks{DB: pool, Table: marks}).Raise(ctx, name, 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWritesWithAVersion(t *testing.T) {
	t.Parallel()
	pool := newStock(t)
	v := fence.Versioned{Table: "stock", Key: "id", Version: "version"}
	for _, c := range []struct {
		key   int
		token uint64
		want  error
	}{{7, 42, nil}, {7, 42, fence.ErrWritten}, {7, 41, fence.ErrStale}, {8, 42, fence.ErrNoRow}} {
		err := pgxfence.Write(t.Context(), pool, v, c.key, c.token, fence.Values{"units": int64(c.token)})
		if !errors.Is(err, c.want) {
			t.Errorf("row %d, token %d: %v, want %v", c.key, c.token, err, c.want)
		}
	}
	if left := units(t, pool); left != 42 {
		t.Errorf("%d are left, want 42", left)
	}
}

// Marks of a gate refuse a late token.
func TestMarksOfAGate(t *testing.T) {
	t.Parallel()
	gate := fence.NewGate(pgxfence.Marks{DB: newStock(t), Table: marks})
	work := func(token uint64) error {
		return gate.Do(t.Context(), "valve", token, func(context.Context) error { return nil })
	}
	if err := work(2); err != nil {
		t.Fatal(err)
	}
	if err := work(1); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the late holder got %v", err)
	}
}

// The examples do what they say. A holder that is too late changes nothing with any of them.
func TestExamples(t *testing.T) {
	pool = newStock(t)
	for _, c := range []struct {
		token uint64
		left  int
	}{{41, 8}, {42, 6}} {
		token = c.token
		ExampleDo()
		ExampleRaise()
		ExampleWrite()
		if left := units(t, pool); left != c.left {
			t.Errorf("token %d: %d are left, want %d", token, left, c.left)
		}
	}
	token = 41
	ExampleDo()
	ExampleWrite()
	var version int
	err := pool.QueryRow(t.Context(), "SELECT version FROM machine WHERE state = 'running'").Scan(&version)
	if err != nil {
		t.Fatal(err)
	}
	if left := units(t, pool); left != 6 || version != 42 {
		t.Errorf("after the late holder %d are left, and the version is %d", left, version)
	}
}

// Bad input is refused before anything is sent.
func TestBadInput(t *testing.T) {
	t.Parallel()
	pool := newStock(t)
	ctx := t.Context()
	nothing := func(*pgxfence.Guard) error { t.Error("it was called"); return nil }
	v := fence.Versioned{Table: "stock", Key: "id", Version: "version"}
	for name, err := range map[string]error{
		"no database":             pgxfence.Do(ctx, nil, marks.Mark("a"), 1, nothing),
		"a transaction":           pgxfence.Do(ctx, begin(t, pool), marks.Mark("a"), 1, nothing),
		"no function":             pgxfence.Do(ctx, pool, marks.Mark("a"), 1, nil),
		"no mark":                 pgxfence.Do(ctx, pool, fence.Mark{}, 1, nothing),
		"no token":                pgxfence.Do(ctx, pool, marks.Mark("a"), 0, nothing),
		"no name":                 pgxfence.Do(ctx, pool, marks.Mark(""), 1, nothing),
		"no database to write to": pgxfence.Write(ctx, nil, v, 7, 1, fence.Values{"units": 1}),
		"nothing to write":        pgxfence.Write(ctx, pool, v, 7, 1, nil),
		"no database of marks":    pgxfence.Marks{Table: marks}.Raise(ctx, "a", 1),
	} {
		if !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pgxfence.Raise(ctx, nil, marks.Mark("a"), 1); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("no transaction: %v", err)
	}
}

// Who is late for the second of two marks writes nothing, even if the error is ignored.
func TestALateHolderOfASecondMarkIsRefused(t *testing.T) {
	t.Parallel()
	pool := newStock(t)
	ctx := t.Context()
	second := marks.Mark("second")
	if err := (pgxfence.Marks{DB: pool, Table: marks}).Raise(ctx, "second", 42); err != nil {
		t.Fatal(err)
	}
	ignoringErrors := func(g *pgxfence.Guard) error {
		_ = g.Raise(ctx, second, 41)
		_ = g.Raise(ctx, marks.Mark("third"), 41)
		_, _ = g.Exec(ctx, "UPDATE stock SET units = 0 WHERE id = 7")
		return nil
	}
	if err := pgxfence.Do(ctx, pool, marks.Mark("first"), 41, ignoringErrors); !errors.Is(err, fence.ErrStale) {
		t.Errorf("Do returned %v", err)
	}
	tx := begin(t, pool)
	g, err := pgxfence.Raise(ctx, tx, marks.Mark("first"), 41)
	if err != nil {
		t.Fatal(err)
	}
	_ = ignoringErrors(g)
	if err := tx.Commit(ctx); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("the commit returned %v", err)
	}
	if left := units(t, pool); left != 10 {
		t.Errorf("%d are left, want 10", left)
	}
}
