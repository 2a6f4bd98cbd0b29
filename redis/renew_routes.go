package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// fail reports the error of a request, which may also say that a slot is not where it was expected.
func (b *serverRenewals) fail(n redisKeys, items []int, err error) {
	b.reportError(items, err)
	b.engine.router.reloadSlotMapIfStale(n, err)
	switch {
	case isMoving(err) || redis.HasErrorPrefix(err, "NOSCRIPT"):
		b.uncertainRoutes = append(b.uncertainRoutes, n)
	case isNoAnswer(err):
		b.unanswered = append(b.unanswered, n)
	}
}

// checkRoutes finds out in the background where slots are that were not where they were expected. Renewals do not wait
// for it. It checks one slot after the other, since there may be thousands after a failover.
func (b *serverRenewals) checkRoutes(ctx context.Context) {
	rt := &b.engine.router
	if len(b.uncertainRoutes)+len(b.unanswered) == 0 || !rt.isCluster() || !rt.config.guard {
		return
	}
	go func() {
		done := map[uint16]bool{}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkRouteTimeout)
		for _, n := range b.unanswered {
			if !done[n.slot()] && bounded.Err() == nil && !b.engine.subscriptions.IsClosed() {
				done[n.slot()] = true
				_ = rt.closeSlotIfGiven(bounded, n)
			}
		}
		cancel()
		clear(done)
		for _, n := range b.uncertainRoutes {
			if !done[n.slot()] && !b.engine.subscriptions.IsClosed() {
				done[n.slot()] = true
				bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkRouteTimeout)
				rt.checkRoute(bounded, n)
				cancel()
			}
		}
	}()
}

// checkRouteTimeout limits the check of one slot, and the check of all unanswered ones together: there may be thousands
// of these, too.
const checkRouteTimeout = 10 * time.Second
