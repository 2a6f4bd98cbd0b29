package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// TestContract runs the suite of all engines with several engines over one schema. They share a pool, so that its
// connections have planned their statements already. For engines that do not listen see TestContractBehindPgBouncer.
func TestContract(t *testing.T) {
	t.Parallel()
	c, err := pgxpool.ParseConfig(shared(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	c.MaxConns = 24
	pool, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	schema := schemaName()
	if err := postgres.Migrate(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Environment {
			if strings.HasSuffix(t.Name(), "Crash") { // the others would be affected
				return restartable(t)
			}
			return drivertest.Environment{Open: func(t *testing.T) driver.Engine { return open(t, pool, schema) }}
		},
		TTL: 1500 * time.Millisecond, // the first waiter also makes a connection
	})
}

// restartable is an environment on a server of its own.
func restartable(t *testing.T) drivertest.Environment {
	s := postgresserver.ForTest(t, postgresserver.Config{Durable: true})
	const schema = "leasehold"
	return drivertest.Environment{
		Open: func(t *testing.T) driver.Engine {
			pool := dial(t, s)
			if err := postgres.Migrate(t.Context(), pool, schema); err != nil {
				t.Fatal(err)
			}
			return open(t, pool, schema, postgres.WithoutCrashGuard())
		},
		Restart: func(t *testing.T) {
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
		},
	}
}
