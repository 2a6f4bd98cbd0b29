package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
)

// How operators and redlock find out whether grants are closed. Nothing here leaves a marker where there is none.

// GrantsClosed implements [driver.Operator]. For an empty key in a Cluster, it says whether any master grants nothing
// in slots that nobody has used yet.
func (e *Engine) GrantsClosed(ctx context.Context, k driver.Key) (*driver.GrantsClosedError, error) {
	switch {
	case e.subscriptions.IsClosed():
		return nil, errEngineClosed
	case !e.guard:
		return nil, nil
	}
	n := e.anyNames()
	if k.Name != "" {
		n = e.names(k)
	}
	clustered, err := e.readRouter.askIsCluster(ctx, n)
	if err != nil {
		return nil, err
	}
	var left time.Duration
	state := stateNew
	if k.Name != "" || !clustered {
		reply, err := e.lookAtMarker(ctx, n)
		if err != nil {
			return nil, err
		}
		left, state = reply.closedFor, reply.state
	}
	if clustered && state == stateNew { // the time that its master has had the slot counts
		if left, err = e.mastersClosedFor(ctx, n, k.Name == ""); err != nil {
			return nil, err
		}
	}
	if left <= 0 {
		return nil, nil
	}
	return newClosedError(time.Now().Add(left), state, clustered), nil
}

// lookAtMarker asks what the marker for names says.
func (e *Engine) lookAtMarker(ctx context.Context, n redisKeys) (markerReply, error) {
	return readMarkerReply(e.runReadOnly(ctx, readCall{
		script: scriptGuard, names: n,
		keys: []string{e.readRouter.markerKey(n)},
		args: append(e.guardArgs(-1), "look"),
	}))
}

// askClosedFor asks for how long grants are closed on the only server.
func (e *Engine) askClosedFor(ctx context.Context) (time.Duration, error) {
	reply, err := e.lookAtMarker(ctx, e.anyNames())
	return reply.closedFor, err
}

// mastersClosedFor returns for how long the master of some names, or the longest of all masters of a Cluster, grants
// nothing in slots that nobody has used yet.
func (e *Engine) mastersClosedFor(ctx context.Context, n redisKeys, all bool) (time.Duration, error) {
	return detach.Do(ctx, &e.workers, func(ctx context.Context) (longest time.Duration, err error) {
		var mu sync.Mutex
		ask := func(tx *redis.Tx) error {
			info, err := askInfo(ctx, tx)
			if err != nil {
				return err
			}
			left, err := e.askMasterClosedFor(ctx, tx, e.newScriptSet(info.identity(), true))
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, left)
			return err
		}
		if all {
			err = e.readRouter.onEachMaster(ctx, ask)
		} else {
			err = e.readRouter.onOneConnection(ctx, e.readRouter.markerKey(n), ask)
		}
		return longest, explainError(err)
	}, nil)
}
