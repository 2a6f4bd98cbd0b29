package engine

import (
	"errors"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
)

// openRedis opens one server, servers that Sentinels watch, or a Cluster.
func openRedis(raw string) (driver.Engine, func() error, error) {
	// The client's own log goes to standard error, and has nothing that the errors do not say.
	logging.Disable()
	e, err := redis.Open(raw)
	if wrong, ok := errors.AsType[*redis.URLError](err); ok {
		ours := URLError(*wrong)
		return nil, nil, &ours
	}
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}
