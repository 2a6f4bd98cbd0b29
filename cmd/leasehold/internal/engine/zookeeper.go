package engine

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// openZooKeeper opens an ensemble, and waits for a session.
func openZooKeeper(raw string) (driver.Engine, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openLimit)
	defer cancel()
	e, err := zookeeper.Open(ctx, raw)
	if wrong, ok := errors.AsType[*zookeeper.URLError](err); ok {
		mine := URLError(*wrong)
		return nil, nil, &mine
	}
	if err != nil {
		return nil, nil, err
	}
	return e, e.Close, nil
}
