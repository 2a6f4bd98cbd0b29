package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A silent shard delays no requests to the others.
func TestFrozenShardDelaysNoOther(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0,
		redisserver.Config{Lines: []string{"cluster-node-timeout 60000", "cluster-require-full-coverage no"}})
	all := clusterClients(c)
	all["Hasty"], all["HastyAutoPipeline"] = hasty(c), pipelined(hasty(c))

	// The parent test lets all engines find all shards before one is paused.
	engines := map[string]*redis.Engine{}
	batches := map[string][]driver.Renewal{}
	for name, client := range all {
		engines[name] = unguarded(t, client)
		for shard := range 3 {
			r := lasting(tagOn(shard)+name, 10*time.Minute)
			mustTake(t, engines[name], r)
			batches[name] = append(batches[name], driver.Renewal{Hold: hold(r), TTL: 10 * time.Minute})
		}
		route := func(shard int) uint32 { return engines[name].Route(lock(tagOn(shard) + "another").Key) }
		if route(0) == 0 || route(0) == route(1) || route(1) == route(2) || route(2) == route(0) ||
			route(1) != engines[name].Route(batches[name][1].Key) {
			t.Errorf("%s: the numbers of shards are %d, %d and %d, want them to differ", name, route(0), route(1),
				route(2))
		}
	}
	if err := c.Nodes[0].Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Nodes[0].Resume() }) // otherwise clients that are closed would wait for it
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkNoOtherDelayed(t, e, batches[name])
		})
	}
}

// checkNoOtherDelayed uses an engine whose shard 0 is silent. The batch has an item on each shard. Requests to shard 0
// are given up only after those to the others were answered.
func checkNoOtherDelayed(t *testing.T, e *redis.Engine, batch []driver.Renewal) {
	ctx, giveUp := context.WithTimeout(t.Context(), patience)
	defer giveUp()
	type outcome struct {
		item int
		err  error
	}
	outcomes := make(chan outcome, len(batch))
	go e.Renew(ctx, batch, func(i int, err error) { outcomes <- outcome{i, err} })
	const several = 8
	stuck := make(chan error, several)
	for i := range several {
		go func() {
			_, err := e.Take(ctx, lock(fmt.Sprint(tagOn(0), "stuck ", i)))
			stuck <- err
		}()
	}
	for range len(batch) - 1 {
		if o := <-outcomes; o.item == 0 || o.err != nil {
			t.Errorf("Renew reported item %d with %v", o.item, o.err)
		}
	}
	for shard := 1; shard < 3; shard++ {
		for range several {
			r := lasting(tagOn(shard)+t.Name(), 10*time.Minute)
			mustTake(t, e, r)
			release(t, e, r)
		}
	}
	giveUp()
	for range several {
		if err := <-stuck; err == nil || driver.IsNo(err) {
			t.Errorf("Take on the silent shard: %v", err)
		}
	}
}

// The engine finds the new master. The client alone would ask the failed master for another minute.
func TestEngineFindsThePromotedReplicaOfAShard(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	master, replica := c.Nodes[0], c.Nodes[3]
	const long = 10 * time.Minute // subtests may wait for other tests
	type party struct {
		holder, waiter, idle *redis.Engine
		held, next           driver.Request
	}
	parties := map[string]party{}
	for name, client := range clusterClients(c) {
		p := party{unguarded(t, client), unguarded(t, client), unguarded(t, client), lasting(tagOn(0)+name, long),
			driver.Request{}}
		mustTake(t, p.idle, lasting(tagOn(0)+name+" idle", time.Minute)) // and nothing more until afterwards
		mustTake(t, p.holder, p.held)
		p.next = mustJoin(t, p.waiter, lasting(p.held.Name, long))
		parties[name] = p
	}
	strict, confirmed := unguarded(t, hasty(c), redis.WithReplicas(1, time.Second)),
		lasting(tagOn(0)+"confirmed", time.Minute)
	mustTake(t, strict, confirmed)
	if err := replica.AwaitReplicaOf(master); err != nil {
		t.Fatal(err)
	}
	master.Kill()
	if err := renewOne(t.Context(), strict, hold(confirmed), time.Minute); err == nil || driver.IsNo(err) {
		t.Errorf("Renew while there is no master: %v", err)
	}
	if _, err := strict.Take(t.Context(), lock(tagOn(0)+"x")); err == nil || driver.IsNo(err) {
		t.Errorf("Take while there is no master: %v", err)
	}
	for name, p := range parties {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			var err error
			waited := make(chan struct{})
			go func() {
				defer close(waited)
				_, err = takeDespiteErrors(ctx, p.waiter, p.next)
			}()
			if _, err := c.AwaitOwner(redisserver.Slot(tagOn(0)), master); err != nil {
				t.Fatal(err)
			}
			retryUntilAnswered(t, "a take by an engine that was idle", func() error {
				_, err := p.idle.Take(ctx, lock(tagOn(0)+name+" new"))
				return err
			})
			retryUntilAnswered(t, "the renewal", func() error { return renewOne(ctx, p.holder, hold(p.held), long) })
			retryUntilAnswered(t, "the release",
				func() error { return p.holder.Release(ctx, driver.Release{Hold: hold(p.held)}) })
			if <-waited; err != nil {
				t.Errorf("the waiter has not got the lock: %v", err)
			}
		})
	}
}
