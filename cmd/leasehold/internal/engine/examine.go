package engine

import (
	"slices"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// OpenToExamine is Open for commands that only examine: it accepts servers of a majority that must not vote, such as
// replicas. They do not vote then, either.
func OpenToExamine(raw string) (driver.Engine, func() error, error) {
	o, err := findOpener(raw, openers)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(o.schemes, "redlock") {
		return o.open(raw)
	}
	logging.Disable()
	e, err := redlock.OpenToExamine(raw)
	if err != nil {
		return nil, nil, asURLError(err)
	}
	return e, e.Close, nil
}
