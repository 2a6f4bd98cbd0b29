package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Wait implements [driver.Engine]. When ctx ends, Wait leaves the queue itself, and releases a grant that it got at
// that moment.
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return e.WaitFrom(ctx, quorumnode.Request{Request: r})
}

// WaitFrom implements [quorumnode.Node].
func (e *Engine) WaitFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	granted, err := e.WaitForGrant(ctx, r)
	return granted.Grant, err
}

// leave makes sure that the owner of a request neither holds nor waits.
func (e *Engine) leave(r driver.Request) {
	_ = e.Release(context.Background(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
}
