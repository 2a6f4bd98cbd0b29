package pgxfence_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
)

var (
	// server is shared by all tests, each of which has a schema of its own.
	server = sync.OnceValues(func() (*postgresserver.Server, error) {
		return postgresserver.StartWith(postgresserver.Config{})
	})
	started atomic.Bool
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := server(); started.Load() && err == nil {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// marks is the table of marks in each test's schema.
var marks = fence.Table{Name: "marks"}

// newStock makes a schema with the marks, and ten units in row 7 of the table stock. The pool looks there first.
func newStock(t *testing.T) *pgxpool.Pool {
	t.Helper()
	started.Store(true)
	s, err := server()
	needed.Started(t, err, postgresserver.ErrMissing)
	config, err := pgxpool.ParseConfig(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("test_%d", schemas.Add(1))
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	create, err := marks.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE SCHEMA " + schema, create,
		"CREATE TABLE stock (id bigint PRIMARY KEY, units bigint NOT NULL CHECK (units >= 0), " +
			"fence bigint, version bigint)",
		"INSERT INTO stock VALUES (7, 10)",
		"CREATE TABLE machine (id bigint PRIMARY KEY, state text, version bigint)", "INSERT INTO machine VALUES (7)",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

// units returns what is left of the stock.
func units(t *testing.T, pool *pgxpool.Pool) (left int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "SELECT units FROM stock WHERE id = 7").Scan(&left); err != nil {
		t.Fatal(err)
	}
	return left
}
