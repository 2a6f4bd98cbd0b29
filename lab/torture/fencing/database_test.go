package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// postgres is one server for all tests. Each test has its own schema.
var postgres = sync.OnceValues(postgresserver.Start)

var started atomic.Bool

func closeServers() error {
	if !started.Load() {
		return nil
	}
	s, err := postgres()
	if err != nil {
		return nil // the tests have reported it
	}
	return s.Close()
}

// database is a database with the tables that the tests write to.
type database struct {
	*sql.DB
	name   string
	schema string
	// busy reports whether an error of a statement means that another transaction is in the way.
	busy func(error) bool
}

// Tables of the tests: a value with its own mark, and marks in a table beside it.
var (
	marks   = fence.Table{Name: "marks"}
	account = fence.Column{Table: "account", Key: "id", Token: "fence"}
)

const createAccount = `CREATE TABLE account (id bigint PRIMARY KEY, value text NOT NULL DEFAULT '', fence bigint)`

var schemas atomic.Int64

func openPostgres(t *testing.T) database {
	t.Helper()
	started.Store(true)
	s, err := postgres()
	if errors.Is(err, postgresserver.ErrMissing) && !needed.Servers() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("pgx", s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	name := fmt.Sprintf("test%d", schemas.Add(1))
	if _, err := admin.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return prepare(t, "pgx", s.DSN()+" search_path="+name,
		database{name: "PostgreSQL", schema: name, busy: func(error) bool { return false }})
}

// openSQLite opens a file, with parameters for the driver.
func openSQLite(t *testing.T, parameters string) database {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)" +
		parameters
	return prepare(t, "sqlite", dsn, database{name: "SQLite", schema: "main", busy: func(err error) bool {
		e, ok := errors.AsType[*sqlite.Error](err)
		return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
	}})
}

// waits is the usual setting for programs with SQLite.
const waits = "&_pragma=busy_timeout(20000)"

func prepare(t *testing.T, driver, dsn string, d database) database {
	t.Helper()
	var err error
	if d.DB, err = sql.Open(driver, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing the database: %v", err)
		}
	})
	schema, err := marks.Schema()
	if err != nil {
		t.Fatal(err)
	}
	d.exec(t, schema)
	d.exec(t, createAccount)
	return d
}

// onEach runs a test with both databases.
func onEach(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, openPostgres(t))
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, openSQLite(t, waits))
	})
}

func (d database) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := d.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (d database) text(t *testing.T, query string, args ...any) string {
	t.Helper()
	var s string
	if err := d.QueryRowContext(t.Context(), query, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}

func (d database) begin(t *testing.T, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := d.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// raise raises a mark and does nothing else.
func raise(ctx context.Context, d database, m fence.Mark, token uint64) error {
	return fence.Do(ctx, d, m, token, func(*fence.Guard) error { return nil })
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stale checks that a token was refused by a mark.
func stale(t *testing.T, err error, have, want uint64) {
	t.Helper()
	e, ok := errors.AsType[*fence.StaleError](err)
	if !ok || !errors.Is(err, fence.ErrStale) || e.Have != have || e.Want != want {
		t.Errorf("%v, want a StaleError: have %d, want %d", err, have, want)
	}
}
