package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// retryRemoval calls remove, and calls it again while ctx lasts if the connection ends before the answer: the client
// then reconnects. A removal may arrive any number of times, since the name of an entry is never used again.
//
// If a repeated removal finds nothing, the first one may have removed the entry, or somebody else may have before. So
// the outcome stays unknown unless a repeated removal finds the entry.
func retryRemoval(ctx context.Context, remove func() error) error {
	var lost error
	for {
		err := remove()
		switch {
		case errors.Is(err, zk.ErrConnectionClosed) && ctx.Err() == nil:
			lost = err
			continue
		case lost == nil || err == nil:
			return err
		}
		return fmt.Errorf("%w before it was answered; asked again: %v", lost, err)
	}
}
