package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Trust writes down what an engine does that has met a server long ago: so others grant leases there at once.
func Trust(ctx context.Context, server *redis.Client) error {
	p := place{config: &config{prefix: DefaultPrefix}}
	return server.Watch(ctx, func(tx *redis.Tx) error {
		f, err := inquire(ctx, tx)
		if err != nil {
			return err
		}
		marker, err := p.marker(ctx, tx, f)
		if err != nil {
			return err
		}
		return tx.Set(ctx, marker, fmt.Sprintf("%s 1 1", f.identity()), 0).Err()
	})
}
