package redisson

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/detach"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// renewalsTogether is how many renewals go to a server together.
const renewalsTogether = 100

// Renew implements [driver.Engine].
func (e *Engine) Renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	detach.Renew(ctx, &e.workers, batch, report, e.renew)
}

// renew sends the renewals of each server together, and those of all servers at the same time.
func (e *Engine) renew(ctx context.Context, batch []driver.Renewal, report func(i int, err error)) {
	calls := make([]call, len(batch))
	servers := map[*redis.Client][]int{} // indexes of the renewals for each; nil stands for the whole client
	for i, r := range batch {
		p, name, err := e.object(r.Key)
		if err != nil {
			report(i, err)
			continue
		}
		calls[i] = p.renew(name, r)
		server := e.masterOf(ctx, name)
		servers[server] = append(servers[server], i)
	}
	var work sync.WaitGroup
	for server, all := range servers {
		var client redis.UniversalClient = e.client
		if server != nil {
			client = server
		}
		for some := range slices.Chunk(all, renewalsTogether) {
			work.Go(func() { e.renewTogether(ctx, client, calls, some, report) })
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

// renewTogether sends some renewals to a server. Those that it has not run, as it does not know the script, or as
// another server has the name by now, are sent again, one by one.
func (e *Engine) renewTogether(
	ctx context.Context, client redis.UniversalClient, calls []call, some []int, report func(i int, err error),
) {
	cmds := make([]luascript.SingleCommand, len(some))
	_, _ = client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each has its own error
		for j, i := range some {
			cmds[j] = calls[i].command(ctx)
			_ = pipe.Process(ctx, cmds[j])
		}
		return nil
	})
	for j, i := range some {
		answer, err := cmds[j].Val(), cmds[j].Err()
		for _, word := range []string{"NOSCRIPT", "MOVED", "ASK"} {
			if redis.HasErrorPrefix(err, word) {
				answer, err = calls[i].run(ctx, e.client)
				break
			}
		}
		report(i, replies.Held(answer, explain(err)))
	}
}
