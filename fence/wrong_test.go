package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/argument"
)

var table = fence.Table{Name: "marks"}

func nothing(*fence.Guard) error { return nil }

// beginner begins transactions with a function of the test.
type beginner func() (*sql.Tx, error)

func (f beginner) BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error) { return f() }

// Wrong use is refused with a ValueError that says what is allowed, before anything is sent.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fake := &fakeDB{affected: 1}
	db := fake.open(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	column := fence.Column{Table: "account", Key: "id", Token: "fence"}
	versioned := fence.Versioned{Table: "article", Key: "id", Version: "version"}
	values := fence.Values{"title": "t"}
	memory, gate := new(fence.Memory), fence.NewGate(new(fence.Memory))
	work := func(context.Context) error { return nil }
	var zero fence.Guard
	raise := func(m fence.Mark, token uint64) error {
		_, err := fence.Raise(ctx, tx, m, token)
		return err
	}
	for name, call := range map[string]func() error{
		"Raise without a transaction": func() error { _, err := fence.Raise(ctx, nil, table.Mark("a"), 1); return err },
		"Raise with the zero mark":    func() error { return raise(fence.Mark{}, 1) },
		"token 0":                     func() error { return raise(table.Mark("a"), 0) },
		"token 2^53":                  func() error { return raise(table.Mark("a"), fence.MaxToken+1) },
		"token above MaxInt64":        func() error { return raise(table.Mark("a"), math.MaxInt64+1) },
		"largest uint64":              func() error { return raise(table.Mark("a"), math.MaxUint64) },
		"empty name":                  func() error { return raise(table.Mark(""), 1) },
		"name too long": func() error {
			return raise(table.Mark(strings.Repeat("n", fence.MaxName+1)), 1)
		},
		"name that is no UTF-8": func() error { return raise(table.Mark("\xff"), 1) },
		"name with NUL":         func() error { return raise(table.Mark("a\x00b"), 1) },
		"table without a name":  func() error { return raise(fence.Table{}.Mark("a"), 1) },
		"table with a quote":    func() error { return raise(fence.Table{Name: `a"b`}.Mark("a"), 1) },
		"table with SQL":        func() error { return raise(fence.Table{Name: "a; DROP TABLE b"}.Mark("a"), 1) },
		"table in two schemas":  func() error { return raise(fence.Table{Name: "a.b.c"}.Mark("a"), 1) },
		"table in no schema":    func() error { return raise(fence.Table{Name: ".a"}.Mark("a"), 1) },
		"table that is too long": func() error {
			return raise(fence.Table{Name: strings.Repeat("t", 64)}.Mark("a"), 1)
		},
		"column of no table": func() error {
			return raise(fence.Column{Key: "id", Token: "fence"}.Mark(1), 1)
		},
		"column without a key": func() error {
			return raise(fence.Column{Table: "a", Token: "fence"}.Mark(1), 1)
		},
		"column without a name": func() error { return raise(fence.Column{Table: "a", Key: "id"}.Mark(1), 1) },
		"column with SQL": func() error {
			return raise(fence.Column{Table: "a", Key: "id", Token: "b = 1 --"}.Mark(1), 1)
		},
		"key and column the same": func() error {
			return raise(fence.Column{Table: "a", Key: "id", Token: "ID"}.Mark(1), 1)
		},
		"nil key":               func() error { return raise(column.Mark(nil), 1) },
		"Schema of a bad table": func() error { _, err := fence.Table{Name: "1"}.Schema(); return err },
		"Schema of a bad column": func() error {
			_, err := fence.Column{Table: "a", Key: "b", Token: "-"}.Schema()
			return err
		},
		"Do without a database": func() error { return fence.Do(ctx, nil, table.Mark("a"), 1, nothing) },
		"Do with a nil database": func() error {
			return fence.Do(ctx, (*sql.DB)(nil), table.Mark("a"), 1, nothing)
		},
		"Do with a nil connection": func() error {
			return fence.Do(ctx, (*sql.Conn)(nil), table.Mark("a"), 1, nothing)
		},
		"Do that begins nothing": func() error {
			return fence.Do(ctx, beginner(func() (*sql.Tx, error) { return nil, nil }), table.Mark("a"), 1, nothing)
		},
		"the zero guard, Exec":     func() error { _, err := zero.ExecContext(ctx, "x"); return err },
		"the zero guard, Query":    func() error { _, err := zero.QueryContext(ctx, "x"); return err },
		"the zero guard, QueryRow": func() error { return zero.QueryRowContext(ctx, "x").Scan() },
		"the zero guard, Prepare":  func() error { _, err := zero.PrepareContext(ctx, "x"); return err },
		"the zero guard, Raise":    func() error { return zero.Raise(ctx, table.Mark("a"), 1) },
		"no guard":                 func() error { _, err := (*fence.Guard)(nil).ExecContext(ctx, "x"); return err },
		"no guard, QueryRow":       func() error { return (*fence.Guard)(nil).QueryRowContext(ctx, "x").Scan() },
		"Do without a function":    func() error { return fence.Do(ctx, db, table.Mark("a"), 1, nil) },
		"Do with token 0":          func() error { return fence.Do(ctx, db, table.Mark("a"), 0, nothing) },
		"Do with a bad name":       func() error { return fence.Do(ctx, db, table.Mark(""), 1, nothing) },
		"Write without a database": func() error { return versioned.Write(ctx, nil, 1, 1, values) },
		"Write with a nil transaction": func() error {
			return versioned.Write(ctx, (*sql.Tx)(nil), 1, 1, values)
		},
		"Write with a nil guard": func() error { return versioned.Write(ctx, (*fence.Guard)(nil), 1, 1, values) },
		"Write with a nil key":   func() error { return versioned.Write(ctx, db, nil, 1, values) },
		"Write with token 0":     func() error { return versioned.Write(ctx, db, 1, 0, values) },
		"Write of nothing":       func() error { return versioned.Write(ctx, db, 1, 1, nil) },
		"Write of the key":       func() error { return versioned.Write(ctx, db, 1, 1, fence.Values{"Id": 2}) },
		"Write of the version": func() error {
			return versioned.Write(ctx, db, 1, 1, fence.Values{"version": 2})
		},
		"Write of a column with SQL": func() error {
			return versioned.Write(ctx, db, 1, 1, fence.Values{"a = 1, b": 2})
		},
		"Write to a bad table":       func() error { return fence.Versioned{}.Write(ctx, db, 1, 1, values) },
		"DBMarks without a database": func() error { return fence.DBMarks{Table: table}.Raise(ctx, "a", 1) },
		"DBMarks with a bad name":    func() error { return fence.DBMarks{DB: db, Table: table}.Raise(ctx, "", 1) },
		"DBMarks with token 0":       func() error { return fence.DBMarks{DB: db, Table: table}.Raise(ctx, "a", 0) },
		"Memory with token 0":        func() error { return memory.Raise(ctx, "a", 0) },
		"Memory with a bad name":     func() error { return memory.Raise(ctx, "", 1) },
		"gate without marks":         func() error { return fence.NewGate(nil).Do(ctx, "a", 1, work) },
		"the zero gate":              func() error { return new(fence.Gate).Do(ctx, "a", 1, work) },
		"gate without work":          func() error { return gate.Do(ctx, "a", 1, nil) },
		"gate with token 0":          func() error { return gate.Do(ctx, "a", 0, work) },
		"gate with a bad name":       func() error { return gate.Do(ctx, "", 1, work) },
	} {
		err := call()
		value, ok := errors.AsType[*fence.ValueError](err)
		if !ok || !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want a ValueError", name, err)
			continue
		}
		if value.Field == "" || value.Value == "" || value.Allowed == "" || len(err.Error()) > 400 {
			t.Errorf("%s: the error says %q", name, err)
		}
	}
	if len(fake.sent) != 1 { // the transaction that was begun at the top
		t.Errorf("sent: %q", fake.sent)
	}
}

// The limits of names and tokens are those of locks.
func TestLimits(t *testing.T) {
	t.Parallel()
	if fence.MaxName != argument.MaxText {
		t.Errorf("MaxName is %d, that of locks %d", fence.MaxName, argument.MaxText)
	}
	for _, name := range []string{"a", "\u00e4\n", strings.Repeat("n", fence.MaxName)} {
		if err := fence.Valid(name, fence.MaxToken); err != nil {
			t.Error(err)
		}
	}
}

// No name of a table or column breaks out of its quotes, and names that are allowed are used unchanged.
func FuzzIdentifiers(f *testing.F) {
	for _, s := range []string{"a", "A_1", "a.b", `a"`, "", "1a", "ä", "a b", "a\x00", strings.Repeat("a", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		schema, err := fence.Table{Name: name}.Schema()
		if err != nil {
			if schema != "" || !errors.Is(err, fence.ErrInvalid) {
				t.Errorf("%q: %q, %v", name, schema, err)
			}
			return
		}
		quoted := `"` + strings.Replace(name, ".", `"."`, 1) + `"`
		if !strings.HasPrefix(schema, "CREATE TABLE IF NOT EXISTS "+quoted+" (") ||
			strings.ContainsAny(name, "\"'`; \n\x00\\-") {
			t.Errorf("%q: %q", name, schema)
		}
	})
}
