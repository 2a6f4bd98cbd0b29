//go:build !no_postgres && !no_servers

package engine

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// openPostgres opens a database, and creates the tables if they are missing.
func openPostgres(raw string) (driver.Engine, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	return opened(postgres.Open(ctx, raw))
}
