package postgres_test

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/internal/needed"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

var (
	// server is shared by most tests, each of which has a schema of its own.
	server = sync.OnceValues(func() (*postgresserver.Server, error) {
		return postgresserver.StartWith(postgresserver.Config{TCP: true, Settings: []string{"max_connections=400"}})
	})
	started atomic.Bool
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	// Most tests wait for a lease to end, so more of them run at a time than there are processors. A flag on the
	// command line overrides this.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	if started.Load() {
		if s, err := server(); err == nil {
			if err := s.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
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

// shared returns the server that most tests share.
func shared(t testing.TB) *postgresserver.Server {
	t.Helper()
	started.Store(true)
	s, err := server()
	needed.Started(t, err, postgresserver.ErrMissing)
	return s
}

// newTables makes the tables in a schema of the test's own.
func newTables(t testing.TB) (*pgxpool.Pool, string) {
	t.Helper()
	pool, schema := dial(t, shared(t)), schemaName()
	if err := postgres.Migrate(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	return pool, schema
}

// schemaName is a name that no other test uses.
func schemaName() string { return fmt.Sprintf("schema_%d", schemas.Add(1)) }

// dial makes a pool on a server, which is closed with the test.
func dial(t testing.TB, s *postgresserver.Server) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// open opens an engine, which is closed with the test.
func open(t testing.TB, pool *pgxpool.Pool, schema string, opts ...postgres.Option) *postgres.Engine {
	t.Helper()
	e, err := postgres.New(pool, append([]postgres.Option{postgres.WithSchema(schema)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() }) // it returns nil
	return e
}
