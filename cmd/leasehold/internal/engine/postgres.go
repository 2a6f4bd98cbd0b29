package engine

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/postgres"
)

// openLimit is how long opening may take for an engine that sends requests before it can be used. It leaves time for a
// second server if the first one hangs.
const openLimit = 10 * time.Second

// openPostgres opens a database, and creates the tables if they are missing.
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
