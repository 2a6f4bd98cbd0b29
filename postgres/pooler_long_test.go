//go:build long

package postgres_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// TestContractBehindPgBouncer runs the suite of all engines through PgBouncer, which gives each transaction any free
// session. The engines do not listen.
func TestContractBehindPgBouncer(t *testing.T) {
	t.Parallel()
	_, schema := newTables(t)
	b := postgresserver.BouncerForTest(t, shared(t))
	drivertest.Run(t, drivertest.Harness{
		Start: func(*testing.T) drivertest.Environment {
			return drivertest.Environment{Open: func(t *testing.T) driver.Engine {
				return open(t, poolAt(t, b.URL()+pooled), schema, postgres.WithPolling())
			}}
		},
		TTL: 1500 * time.Millisecond,
	})
}
