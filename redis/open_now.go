package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// OpenNow makes all servers that can be reached grant at once, in a Cluster all masters and all their slots. The caller
// thereby says that no lease is missing there: nothing was ever locked, or all earlier leases have ended. by says who
// opens them and why, for the record; it must not be empty. OpenNow returns the names of the servers that are open now,
// even with an error, which is about the others.
func (e *Engine) OpenNow(ctx context.Context, by string) (opened []string, err error) {
	if e.subscriptions.IsClosed() {
		return nil, errEngineClosed
	}
	if by = strings.Join(strings.Fields(luascript.WithoutNUL(by)), " "); by == "" {
		return nil, driver.Permanent(errors.New("redis: to open a server, say who does it and why"))
	}
	if !e.guard {
		return nil, nil
	}
	open := func(ctx context.Context) ([]string, error) { return e.openNow(ctx, by) }
	return detach.Do(ctx, &e.workers, open, nil)
}

func (e *Engine) openNow(ctx context.Context, by string) (opened []string, err error) {
	n := e.anyNames()
	clustered, err := e.router.askIsCluster(ctx, n)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	open := func(tx *redis.Tx) error {
		name, err := e.openServer(ctx, tx, by)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			opened = append(opened, name)
		}
		return err
	}
	if clustered {
		err = e.router.onEachMaster(ctx, open)
		for i := range *e.router.markers.Load() { // the scripts check the markers themselves
			(*e.router.markers.Load())[i].Store(nil)
		}
		return opened, err
	}
	if err = e.router.onOneConnection(ctx, n.value, open); err == nil {
		if srv := e.router.cachedServer(n); srv != nil {
			_, err = e.router.refreshMarker(ctx, n, srv)
		}
	}
	return opened, explainError(err)
}

// openServer opens one server, and returns its name.
func (e *Engine) openServer(ctx context.Context, tx *redis.Tx, by string) (string, error) {
	info, err := askInfo(ctx, tx)
	switch {
	case err != nil:
		return "", err
	case info.isReplica:
		return "", driver.NoEffect(errors.New("redis: the server is a replica: " +
			"it grants nothing anyway; open its master"))
	}
	scripts := e.newScriptSet(info.identity(), info.isCluster())
	if err := e.router.loadScripts(ctx, tx, scripts); err != nil {
		return "", err
	}
	if info.isCluster() {
		return e.openMaster(ctx, tx, scripts, by)
	}
	marker := []string{e.serverMarkerKey()}
	err = tx.EvalSha(ctx, scripts.sha[scriptGuardOpen], marker, e.maxTTL.Milliseconds(), by, "").Err()
	r := newServerReport("")
	r.infoFields["tcp_port"] = "of run_id " + info.runID
	return e.serverName(r), explainError(err)
}

// openMaster opens a master of a Cluster: first its record, which counts for slots without a marker, and then all
// existing markers. Moving slots stay as they are, as keys that have left may be missing.
func (e *Engine) openMaster(ctx context.Context, tx *redis.Tx, scripts *scriptSet, by string) (string, error) {
	text, err := tx.ClusterNodes(ctx).Result()
	if err != nil {
		return "", explainError(err)
	}
	me, found := askedNode(text)
	if !found {
		return "", errMoving
	}
	marked, err := e.slotsWithMarker(ctx, tx, me)
	if err != nil {
		return "", explainError(err)
	}
	record := []string{e.masterRecordKey(me.firstSlot())}
	err = tx.EvalSha(ctx, scripts.sha[scriptGuardSlots], record,
		e.maxTTL.Milliseconds(), me.epoch, me.rangesText(), me.firstSlot(), by, marked).Err()
	if err != nil {
		return "", explainError(err)
	}
	for some := range me.slots() {
		some = slices.DeleteFunc(some, me.isGivingAway)
		cmds, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, slot := range some {
				marker := []string{e.slotMarkerKey(slot)}
				p.EvalSha(ctx, scripts.sha[scriptGuardOpen], marker, e.maxTTL.Milliseconds(), by, 1)
			}
			return nil
		})
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil && !hasLeftServer(err) {
				return "", fmt.Errorf("redis: some slots of %s are open, and others not: %w",
					me.address, explainError(err))
			}
		}
		if len(cmds) == 0 && len(some) > 0 {
			return "", explainError(err)
		}
	}
	return me.address, nil
}

// Opens returns roughly when the server grants leases again, or the zero time if it grants now. It reports what the
// last request found out, and sends nothing. If this engine has not been used for locking yet, it asks the server, and
// leaves no marker there: the time of a server without a record of earlier use begins with the first request for a
// lock. Opens is for engines on one server.
func (e *Engine) Opens(ctx context.Context) (time.Time, error) {
	if e.subscriptions.IsClosed() {
		return time.Time{}, errEngineClosed
	}
	var left time.Duration
	if srv := e.router.cachedServer(redisKeys{}); srv != nil {
		left = e.router.markerOf(redisKeys{}, srv).closedFor()
	} else if e.guard {
		var err error
		if left, err = e.askClosedFor(ctx); err != nil {
			return time.Time{}, reply.NoEffect(err)
		}
	}
	if left <= 0 {
		return time.Time{}, nil
	}
	return time.Now().Add(left), nil
}
