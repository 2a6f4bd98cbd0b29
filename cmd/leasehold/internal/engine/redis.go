package engine

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// openRedis opens one server, servers behind Sentinels, or a Cluster.
func openRedis(raw string) (driver.Engine, func() error, error) {
	// The log of go-redis goes to standard error, and says nothing that the errors do not say.
	logging.Disable()
	e, err := redis.Open(raw)
	if err != nil {
		return nil, nil, asURLError(err)
	}
	return e, e.Close, nil
}

// openRedlock opens several servers that vote.
func openRedlock(raw string) (driver.Engine, func() error, error) {
	logging.Disable()
	e, err := redlock.Open(context.Background(), raw)
	if err != nil {
		return nil, nil, asURLError(err)
	}
	return e, e.Close, nil
}

// asURLError converts the engine's URL error to one of this package.
func asURLError(err error) error {
	if wrong, ok := errors.AsType[*redis.URLError](err); ok {
		mine := URLError(*wrong)
		return &mine
	}
	return err
}
