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
	r.Join, r.MaxWaiters = true, 0
	s := e.shard(r.Key)
	for ctx.Err() == nil {
		start := driver.Now()
		s.mu.Lock()
		grant, w, err := e.takeLocked(s, &r)
		s.mu.Unlock()
		if err == nil {
			grant.Start = start
			return grant, nil
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
	// The result does not matter: either way nothing is left.
	_ = e.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
	return driver.Grant{}, driver.NoEffect(ctx.Err())
}
