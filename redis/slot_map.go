package redis

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// slotMapReloads says how often the client's slot map was reloaded, and when last.
type slotMapReloads struct {
	count atomic.Int64
	last  atomic.Int64 // in nanoseconds of the engine's life
}

// minReloadInterval is the shortest time between two reloads.
const minReloadInterval = 100 * time.Millisecond

// reloadSlotMapIfStale makes a Cluster client reload its map of slots in the background, after an error that a stale
// map may have caused. By itself the client sends requests for up to a minute to a master that has failed, if nobody
// tells it.
func (rt *router) reloadSlotMapIfStale(n redisKeys, err error) {
	if !rt.isCluster() || !maySlotMapBeStale(err) {
		return
	}
	now, last := int64(rt.elapsed()), rt.slotMapReloads.last.Load()
	if now-last < int64(minReloadInterval) && last != 0 || !rt.slotMapReloads.last.CompareAndSwap(last, now) {
		return
	}
	if c, ok := rt.client.(*redis.ClusterClient); ok {
		c.ReloadState(context.Background())
		return
	}
	// The client behind an AutoPipeliner is hidden. But any client reloads its map when a server says MOVED. So send
	// requests to where their key is not: to the servers of two distant slots, which are mostly not the suspected one.
	count := int(rt.slotMapReloads.count.Add(1))
	for third := 1; third <= 2; third++ {
		elsewhere := slotTags()[(int(n.slot())+third*slots/3+count*257)%slots]
		cmd := redis.NewCmd(context.Background(), "evalsha", strings.Repeat("0", 40), 1, n.value, elsewhere)
		cmd.SetFirstKeyPos(4)
		go func() { _ = rt.client.Process(context.Background(), cmd) }()
	}
}

// maySlotMapBeStale reports whether asking the wrong server may have caused an error. A refusal by the right server is
// no such error.
func maySlotMapBeStale(err error) bool {
	var reply redis.Error
	if errors.As(err, &reply) {
		return redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "CLUSTERDOWN")
	}
	return err != nil && !errors.Is(err, context.Canceled)
}
