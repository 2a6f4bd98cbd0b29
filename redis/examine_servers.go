package redis

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/internal/health"
)

// examineMasters examines all servers that grant leases. It fails if the only server does not answer, or if no node
// names the masters.
func (e *Engine) examineMasters(ctx context.Context) ([]*serverReport, []driver.Finding, error) {
	if _, clustered := e.client.(*redis.ClusterClient); clustered {
		return e.examineCluster(ctx)
	}
	// Set for an AutoPipeliner over a Cluster, whose Watch needs a key.
	var clustered atomic.Bool
	r, err := e.examineServer(ctx, "", "", func(ctx context.Context, f func(redis.Cmdable) error) error {
		called := false
		err := e.client.Watch(ctx, func(tx *redis.Tx) error {
			called = true
			return f(tx)
		})
		clustered.Store(!called)
		return err
	})
	switch {
	case err != nil && clustered.Load():
		return e.examineCluster(ctx)
	case err != nil:
		return nil, nil, err
	}
	r.server.Name = e.serverName(r)
	return []*serverReport{r}, nil, nil
}

// serverName returns the name of the only server: its address, as far as it is known.
func (e *Engine) serverName(r *serverReport) string {
	if e.opened != nil {
		if name := e.opened.LastAddress(); name != "" {
			return name
		}
	}
	if c, ok := e.client.(*redis.Client); ok && c.Options().Addr != health.FailoverAddress {
		return c.Options().Addr
	}
	return "port " + r.infoFields["tcp_port"]
}

// examineCluster examines the masters of a Cluster that have slots.
func (e *Engine) examineCluster(ctx context.Context) ([]*serverReport, []driver.Finding, error) {
	var missing missingRights
	text, err := e.router.clusterNodes(ctx)
	if err != nil && strings.Contains(err.Error(), "cluster support disabled") {
		return nil, []driver.Finding{{
			Severity: driver.Critical, Code: "wrong-mode",
			Text: "the server is no part of a Cluster, but is used like one: no lock can be granted",
			Fix:  "use a redis:// or redis+sentinel:// URL, or a client for one server",
		}}, nil
	}
	if err := missing.noteDenied(err); err != nil {
		return nil, nil, explainError(err)
	}
	if len(missing.denied) > 0 {
		return nil, missing.judge("", true), nil
	}
	nodes := mastersOf(text)
	seen := make([]*serverReport, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() {
			marker := e.masterRecordKey(n.firstSlot())
			connect := func(ctx context.Context, f func(redis.Cmdable) error) error {
				return e.router.onOneConnection(ctx, marker, func(tx *redis.Tx) error { return f(tx) })
			}
			r, err := e.examineServer(ctx, n.address, marker, connect)
			if err != nil {
				r = newServerReport(n.address)
				r.server.Role = "master"
				r.server.Err = silentError(r.rights.noteDenied(err)) // missing rights are reported separately
			}
			seen[i] = r
		})
	}
	work.Wait()
	return seen, e.judgeCoverage(nodes), nil
}

// judgeCoverage finds slots that no master has.
func (e *Engine) judgeCoverage(nodes []node) []driver.Finding {
	covered := 0
	for _, n := range nodes {
		covered += n.slotCount()
	}
	return health.JudgeCoverage(covered)
}
