package redisson

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/reply"
)

// renewalsTogether is how many renewals go to a server together.
const renewalsTogether = 100

// Renew implements [driver.Engine].
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	detach.Renew(ctx, &e.workers, batch, report, e.renew)
}

// renew sends the renewals of each server together, and those of all servers at the same time.
func (e *Engine) renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	publish, unknown := e.publishCommand(ctx) // any take has asked already
	calls := make([]call, len(batch))
	servers := map[*redis.Client][]int{} // indexes of the renewals for each; nil stands for the whole client
	for i, r := range batch {
		p, name, err := e.object(r.Key)
		if err == nil {
			err = reply.NoEffect(unknown)
		}
		if err != nil {
			report(i, err)
			continue
		}
		calls[i] = p.renew(name, r, publish)
		server := e.masterOf(ctx, name)
		servers[server] = append(servers[server], i)
	}
	var work sync.WaitGroup
	for server, all := range servers {
		on := onOneServer(e.client)
		switch {
		case server != nil:
			on = onOneServer(server)
		case e.confirm.Replicas > 0:
			on = e.onServerOf // a whole Cluster has no connection on which WAIT counts
		}
		for some := range slices.Chunk(all, renewalsTogether) {
			work.Go(func() {
				together := make([]call, len(some))
				for j, i := range some {
					together[j] = calls[i]
				}
				e.runTogether(ctx, e.confirm, on, together, func(j int, answer any, unconfirmed, err error) {
					err = replies.Held(answer, err)
					if err == nil && unconfirmed != nil {
						err = fmt.Errorf("redisson: %w", unconfirmed) // it may have had an effect
					}
					report(some[j], err)
				})
			})
		}
	}
	work.Wait()
}

// masterOf returns the client of the server in a Cluster that has a name, as far as is known, or nil.
func (e *Engine) masterOf(ctx context.Context, name string) *redis.Client {
	if c, ok := e.client.(*redis.ClusterClient); ok {
		if master, err := c.MasterForKey(ctx, name); err == nil {
			return master
		}
	}
	return nil
}
