//go:build !no_zookeeper && !no_servers

package engine

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// openZooKeeper opens an ensemble, and waits for a session.
func openZooKeeper(raw string) (driver.Engine, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	return opened(zookeeper.Open(ctx, raw))
}
