package memory

import (
	"context"
	"errors"

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
	r.Join, r.MaxWaiters = true, 0
	for ctx.Err() == nil {
		start := driver.Now()
		grant, w, err := e.takeOrRecall(&r)
		if err == nil {
			grant.Start = start
			return grant, nil
		}
		if held, lingers := errors.AsType[*driver.HeldError](err); r.Probe && !(lingers && held.Lingers) {
			e.leave(r.Request)
			return driver.Grant{}, driver.ErrHeld
		}
		select {
		case <-w.ready:
			if w.grant.Token != 0 {
				return w.grant, nil
			}
			// A Release removed the place: join again.
		case <-ctx.Done():
		}
	}
	e.leave(r.Request)
	return driver.Grant{}, driver.NoEffect(ctx.Err())
}

// leave makes sure that the owner of a request neither holds nor waits.
func (e *Engine) leave(r driver.Request) {
	_ = e.Release(context.Background(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
}
