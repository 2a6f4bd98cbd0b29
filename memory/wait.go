package memory

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// Wait implements [driver.Engine]. When ctx ends it leaves the queue itself, and
// passes on a grant that it got at that moment.
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.Waiters = true, 0
	s := e.shard(r.Key)
	for ctx.Err() == nil {
		start := driver.Now()
		s.mu.Lock()
		grant, place, err := e.take(s, &r)
		s.mu.Unlock()
		if err == nil {
			grant.Start = start
			return grant, nil
		}
		select {
		case <-place.ready:
			if place.grant.Token != 0 {
				return place.grant, nil
			}
			// The place was taken away by a Release: join again.
		case <-ctx.Done():
		}
	}
	// The answer says no more than the error to come: that nothing is left.
	_ = e.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
	return driver.Grant{}, driver.NoEffect(ctx.Err())
}
