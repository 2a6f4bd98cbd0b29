package engine

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// openLimit is for how long an engine that asks its servers something before it can be used may take to open. It leaves time for a second server, if the first one
// hangs.
const openLimit = 10 * time.Second

// openPostgres opens a database, and makes the tables if they are missing.
func openPostgres(raw string) (driver.Engine, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	e, err := postgres.Open(ctx, raw)
	if wrong, ok := errors.AsType[*postgres.URLError](err); ok {
		mine := URLError(*wrong)
		return nil, nil, &mine
	}
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}
