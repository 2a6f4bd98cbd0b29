package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A shard that is silent delays nothing of the others.
func TestFrozenShardDelaysNoOther(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{Lines: []string{"cluster-node-timeout 60000", "cluster-require-full-coverage no"}})
	all := clients(c)
	heeding := func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true, MaxRedirects: 1}))
	}
	all["PlainWithDeadlines"], all["AutoPipelineWithDeadlines"] = heeding, pipelined(heeding)

	// In the parent, all engines get to know all shards before one is paused.
	engines := map[string]*redis.Engine{}
	batches := map[string][]driver.Renewal{}
	for name, client := range all {
		engines[name] = unguarded(t, client)
		for shard := range 3 {
			r := lasting(tagOn(shard)+name, time.Minute)
			takes(t, engines[name], r)
			batches[name] = append(batches[name], driver.Renewal{Hold: hold(r), TTL: time.Minute})
		}
	}
	if err := c.Nodes[0].Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Nodes[0].Resume() }) // or clients that are closed would wait for it
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delaysNoOther(t, e, batches[name])
		})
	}
}

// delaysNoOther uses an engine of which shard 0 is silent. The batch has an item on each shard.
func delaysNoOther(t *testing.T, e *redis.Engine, batch []driver.Renewal) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	began := time.Now()
	type outcome struct {
		item int
		err  error
		took time.Duration
	}
	outcomes := make(chan outcome, len(batch))
	go e.Renew(ctx, batch, func(i int, err error) { outcomes <- outcome{i, err, time.Since(began)} })
	const several = 8
	stuck := make(chan error, several)
	for i := range several {
		go func() {
			_, err := e.Take(ctx, lock(fmt.Sprint(tagOn(0), "stuck ", i)))
			stuck <- err
		}()
	}
	for range len(batch) - 1 {
		if o := <-outcomes; o.item == 0 || o.err != nil || o.took > soon {
			t.Errorf("Renew reported item %d after %v with %v", o.item, o.took, o.err)
		}
	}
	for shard := 1; shard < 3; shard++ {
		for range several {
			r := lasting(tagOn(shard)+t.Name(), time.Minute)
			began := time.Now()
			takes(t, e, r)
			release(t, e, r)
			if took := time.Since(began); took > soon {
				t.Errorf("Take and Release on shard %d took %v", shard, took)
			}
		}
	}
	for range several {
		if err := <-stuck; err == nil || driver.IsNo(err) {
			t.Errorf("Take on the silent shard: %v", err)
		}
	}
}

// The client would go on for a minute to ask the master that has failed.
func TestEngineFindsThePromotedReplicaOfAShard(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	type party struct {
		holder, idle, strict   *redis.Engine
		first, second, strict1 driver.Request
		got                    <-chan grant
	}
	parties := map[string]party{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for name, client := range clients(c) {
		p := party{holder: unguarded(t, client), idle: unguarded(t, client), strict: unguarded(t, client, redis.WithReplicas(1, time.Second))}
		takes(t, p.idle, lasting(tagOn(0)+name+" idle", time.Minute)) // and then nothing more until afterwards
		p.strict1 = lasting(tagOn(0)+name+" strict", time.Minute)
		takes(t, p.strict, p.strict1)
		p.first = lasting(tagOn(0)+name, time.Minute)
		takes(t, p.holder, p.first)
		waiter := unguarded(t, client)
		p.second = joins(t, waiter, lasting(p.first.Name, time.Minute))
		got := make(chan grant, 1)
		go func() {
			g, err := persists(ctx, waiter, p.second)
			got <- grant{g, err, time.Now()}
		}()
		p.got = got
		parties[name] = p
	}
	master, replica := c.Nodes[0], c.Nodes[3]
	if err := replica.AwaitReplicaOf(master); err != nil {
		t.Fatal(err)
	}
	master.Kill()
	for _, p := range parties {
		if err := renews(ctx, p.strict, hold(p.strict1), time.Minute); err == nil || driver.IsNo(err) {
			t.Errorf("Renew while there is no master: %v", err)
		}
		if _, err := p.strict.Take(ctx, lock(tagOn(0)+"x")); err == nil || driver.IsNo(err) {
			t.Errorf("Take while there is no master: %v", err)
		}
	}
	if _, err := c.AwaitOwner(redisserver.Slot(tagOn(0)), master); err != nil {
		t.Fatal(err)
	}
	for name, p := range parties {
		t.Run(name, func(t *testing.T) {
			x := time.Now()
			r := lasting(tagOn(0)+name+" new", time.Minute)
			persistently(t, "a take by an engine that was idle", func() error { _, err := p.idle.Take(ctx, r); return err })
			t.Log("T", time.Since(x));
			persistently(t, "the renewal", func() error { return renews(ctx, p.holder, hold(p.first), time.Minute) })
			t.Log("R", time.Since(x));
			persistently(t, "the release", func() error { return p.holder.Release(ctx, driver.Release{Hold: hold(p.first)}) })
			t.Log("A", time.Since(x)); granted(t, p.got)
			t.Log("B", time.Since(x))
		})
	}
}
