//go:build !no_redis && !no_servers

package engine

import (
	"context"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

// openRedis opens one server, servers behind Sentinels, or a Cluster.
func openRedis(raw string) (driver.Engine, func() error, error) {
	// The log of go-redis goes to standard error, and says nothing that the errors do not say.
	logging.Disable()
	return opened(redis.Open(raw))
}

// openRedisson opens one server, servers behind Sentinels, or a Cluster, for locks that programs in Java share.
func openRedisson(raw string) (driver.Engine, func() error, error) {
	logging.Disable()
	return opened(redisson.Open(raw))
}

// openRedlock opens several servers that vote.
func openRedlock(raw string) (driver.Engine, func() error, error) {
	logging.Disable()
	return opened(redlock.Open(context.Background(), raw))
}

// examineRedlock opens several servers, and accepts those that must not vote. They do not vote then, either.
func examineRedlock(raw string) (driver.Engine, func() error, error) {
	logging.Disable()
	return opened(redlock.OpenToExamine(raw))
}
