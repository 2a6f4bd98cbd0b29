package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// retryWhileMoving retries until the slot of a name has moved, or ctx ends.
func retryWhileMoving(ctx context.Context, try func() error) error {
	for pause := movingPauseMin; ; pause = min(2*pause, movingPauseMax) {
		err := try()
		if err == nil || !isMoving(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Pauses between requests for a name whose slot is moving.
const movingPauseMin, movingPauseMax = 10 * time.Millisecond, 200 * time.Millisecond

// noteFailure is called with the error of a request for a name. In a Cluster it may mean that the slot is moving to
// another server.
func (rt *router) noteFailure(ctx context.Context, n redisKeys, err error) {
	if err == nil || rt.readOnly || !rt.config.guard || rt.isSingle() {
		return
	}
	if isMoving(err) {
		// Close the slot. Callers that find the same at the same time share the work. Wait only briefly: the server
		// with the marker may be frozen, and the next request finds the same.
		bounded, cancel := context.WithTimeout(ctx, movingPauseMax)
		defer cancel()
		_, _ = rt.awaitInquiry(bounded, n, inquiryKey{slot: n.slot(), moving: true}, nil)
	}
	if isNoAnswer(err) && rt.isCluster() {
		// It may be moving to a server that is frozen or gone, to which the client was redirected. Do not wait.
		rt.joinInquiry(ctx, n, inquiryKey{slot: n.slot(), silent: true}, nil, nil)
	}
}

// isNoAnswer reports whether an error is not a reply of a server.
func isNoAnswer(err error) bool {
	_, replied := errors.AsType[redis.Error](err)
	return err != nil && !replied
}

// checkRoute finds out where a slot is. Until now it was only assumed to have moved together with others. checkRoute
// closes the slot if it is half moved. Otherwise it reads the marker, so that the marker names the server that has the
// slot now.
func (rt *router) checkRoute(ctx context.Context, n redisKeys) {
	if rt.readOnly || !rt.config.guard || rt.isSingle() {
		return
	}
	srv, err := rt.findServer(ctx, n, nil)
	if err == nil {
		_, _ = rt.refreshMarker(ctx, n, srv) // requests for grants read it again
	}
	rt.noteFailure(ctx, n, err)
}

// closeMovingSlot closes a slot that is being given away, on whichever server has its marker: the caller may have taken
// the wrong server for its master, and the marker may have left.
func (rt *router) closeMovingSlot(ctx context.Context, n redisKeys) error {
	marker := rt.config.slotMarkerKey(n.slot())
	err := rt.onOneConnection(ctx, marker, func(tx *redis.Tx) error { return rt.closeSlotOn(ctx, tx, marker) })
	if isMoving(err) {
		return rt.closeDepartedSlot(ctx, marker)
	}
	return err
}

// closeSlotIfGiven closes a slot if its server says that it is giving the slot away.
func (rt *router) closeSlotIfGiven(ctx context.Context, n redisKeys) error {
	marker := rt.config.slotMarkerKey(n.slot())
	return rt.onOneConnection(ctx, marker, func(tx *redis.Tx) error {
		text, err := tx.ClusterNodes(ctx).Result()
		if err != nil {
			return explainError(err)
		}
		if me, found := askedNode(text); !found || !me.isGivingAway(n.slot()) {
			return nil
		}
		return rt.closeSlotOn(ctx, tx, marker)
	})
}

// closeSlotOn closes the slot of a marker on the server of a connection.
func (rt *router) closeSlotOn(ctx context.Context, tx *redis.Tx, marker string) error {
	info, err := askInfo(ctx, tx)
	if err != nil {
		return err
	}
	scripts := rt.config.newScriptSet(info.identity(), true)
	shut := func() error { return tx.EvalSha(ctx, scripts.sha[scriptGuardMoving], []string{marker}).Err() }
	err = shut()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = rt.loadScripts(ctx, tx, scripts); err == nil {
			err = shut()
		}
	}
	return err
}

// closeDepartedSlot closes a slot whose marker has already moved. The slot may come back before the keys that left with
// it, and its marker must not say then what it said before. The client follows the redirection, to a server that may
// not know the scripts, so this uses a plain command. However late it arrives, it opens nothing.
func (rt *router) closeDepartedSlot(ctx context.Context, marker string) error {
	write := func(who string, longest, nodes any) (string, error) {
		text := fmt.Sprintf("%s %s %d %v %v", who, stateMoving, time.Now().UnixMilli(), longest, nodes)
		return rt.client.SetArgs(ctx, marker, text, redis.SetArgs{Mode: "XX", Get: true}).Result()
	}
	before, err := write("-", rt.config.maxTTL.Milliseconds(), "-")
	if fields := strings.Fields(before); err == nil && len(fields) >= 5 {
		_, err = write(fields[0], fields[3], fields[4])
	}
	return explainError(err)
}
