package redis

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// examineReplicas examines the replicas of all masters.
func (e *Engine) examineReplicas(ctx context.Context, masters []*serverReport) [][]*serverReport {
	all := make([][]*serverReport, len(masters))
	var work sync.WaitGroup
	for i, m := range masters {
		following := m.health().Replicas()
		all[i] = make([]*serverReport, len(following))
		for j, f := range following {
			work.Go(func() { all[i][j] = e.examineReplica(ctx, f) })
		}
	}
	work.Wait()
	return all
}

func (e *Engine) examineReplica(ctx context.Context, f health.Replica) *serverReport {
	r, err := newServerReport(f.Address), health.ErrReplicasUnreachable
	if e.opened != nil {
		c := e.opened.ToServer(f.Address)
		defer func() { _ = c.Close() }() // it was only read from
		var seen *serverReport
		connect := func(ctx context.Context, f func(redis.Cmdable) error) error {
			return c.Watch(ctx, func(tx *redis.Tx) error { return f(tx) })
		}
		seen, err = e.examineServer(ctx, f.Address, e.serverMarkerKey(), connect)
		if err == nil {
			r = seen
		}
	}
	r.isReplica, r.errNotAsked = true, silentError(err)
	r.server.Role, r.server.Votes = "replica", false
	return r
}
