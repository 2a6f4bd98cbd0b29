package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoAnswer is the error of a read-only request that the server does not answer.
var ErrNoAnswer = errNoAnswer

// Trust declares a server open for engines with any longest ttl, so that they grant leases there at once.
func Trust(ctx context.Context, server *redis.Client) error {
	e, err := New(server)
	if err != nil {
		return err
	}
	defer e.Close()
	e.maxTTL = time.Millisecond
	return server.Watch(ctx, func(tx *redis.Tx) error {
		_, err := e.openServer(ctx, tx, "a test")
		return err
	})
}
