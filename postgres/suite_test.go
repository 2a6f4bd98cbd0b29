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

// TestContract runs the suite of all engines with several engines over one schema. They share a pool, whose connections have planned their statements
// then. For engines that do not listen see TestContractBehindPgBouncer.
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
	schema := newSchema()
	if err := postgres.Migrate(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	drivertest.Run(t, drivertest.Harness{
		Start: func(t *testing.T) drivertest.Place {
			if strings.HasSuffix(t.Name(), "/GrowOverCrash") { // the others would feel it
				return restartable(t)
			}
			return drivertest.Place{Open: func(t *testing.T) driver.Engine { return open(t, pool, schema) }}
		},
		TTL: 1500 * time.Millisecond, // the first who waits makes a connection, too
	})
}

// restartable is a place on a server of its own.
func restartable(t *testing.T) drivertest.Place {
	s := postgresserver.ForTest(t, postgresserver.Config{Durable: true})
	const schema = "leasehold"
	return drivertest.Place{
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
