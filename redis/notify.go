package redis

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/redis/internal/subscriptions"
)

// notifyChannel returns the channel on which waiters for a name are notified, and whether it is a sharded one. In a
// Cluster it is in the slot of the name, so that the script that hands over may publish to it. Elsewhere one channel
// serves all names.
func (e *Engine) notifyChannel(n redisKeys) (name string, sharded bool) {
	if e.router.isCluster() {
		return n.partPrefix() + "wake:" + e.process, true
	}
	return e.prefix + "wake:" + e.process, false
}

// mustPoll reports whether waiters for a name must poll.
func (e *Engine) mustPoll(n redisKeys) bool {
	if e.polling {
		return true
	}
	srv := e.router.cachedServer(n)
	if srv == nil { // only the read router knows it, as for a latch
		srv = e.readRouter.cachedServer(n)
	}
	return srv != nil && srv.cannotPublish
}

// canJoinAtOnce reports whether a caller can join the queue of a name without subscribing first: because the channel is
// open, or because waiters must poll anyway.
func (e *Engine) canJoinAtOnce(n redisKeys) bool {
	if e.mustPoll(n) {
		return true
	}
	if !e.subscriptions.AnyOpen() {
		return false
	}
	name, _ := e.notifyChannel(n)
	return e.subscriptions.IsOpen(name)
}

// subscribe makes sure that w is notified, and returns when it is. Where nothing can be notified, w has to poll.
func (e *Engine) subscribe(ctx context.Context, w *waiter, n redisKeys) error {
	name, sharded := e.notifyChannel(n)
	return e.subscribeTo(ctx, w, n, name, sharded)
}

func (e *Engine) subscribeTo(ctx context.Context, w *waiter, n redisKeys, name string, sharded bool) error {
	way, err := e.subscribeAs(ctx, &w.subscriber, n, name, sharded)
	if err == nil {
		w.setNotifyBy(way)
	}
	return err
}

// subscribeAs subscribes to a channel on which this process is notified about a name. It returns how others publish
// there: P, S, or - if they cannot.
func (e *Engine) subscribeAs(
	ctx context.Context, s *subscriptions.Subscriber, n redisKeys, name string, sharded bool,
) (way string, err error) {
	if e.mustPoll(n) {
		return "-", nil
	}
	var srv *server
	if sharded {
		if srv = e.router.cachedServer(n); srv == nil {
			srv = e.readRouter.cachedServer(n)
		}
	}
	switch err := e.subscriptions.Subscribe(ctx, s, name, srv, sharded); {
	case errors.Is(err, subscriptions.ErrNotSubscribed):
		if err != subscriptions.ErrNotSubscribed {
			e.router.reloadSlotMapIfStale(n, err)
		}
		return "-", nil
	case err != nil:
		e.router.reloadSlotMapIfStale(n, err)
		return "", err
	case sharded:
		return "S", nil
	}
	return "P", nil
}

// unsubscribe ends the notifications of w.
func (e *Engine) unsubscribe(w *waiter) { e.subscriptions.Unsubscribe(&w.subscriber) }
