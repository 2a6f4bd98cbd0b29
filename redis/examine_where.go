package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// masters looks at all servers that grant leases. It is an error if the only one says nothing, or nobody says which there are.
func (e *Engine) masters(ctx context.Context) ([]*visit, []driver.Finding, error) {
	if _, clustered := e.client.(*redis.ClusterClient); clustered {
		return e.shards(ctx)
	}
	var clustered atomic.Bool // it is an AutoPipeliner over a Cluster, which wants a key
	v, err := e.visit(ctx, "", "", func(ctx context.Context, f func(redis.Cmdable) error) error {
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
		return e.shards(ctx)
	case err != nil:
		return nil, nil, err
	}
	v.place.Name = e.called(v)
	return []*visit{v}, nil, nil
}

// failoverAddress is what go-redis has for an address that Sentinels know.
const failoverAddress = "FailoverClient"

// called is what the one server is called: its address, as far as it is known.
func (e *Engine) called(v *visit) string {
	if e.far != nil {
		if name := e.far.last.Load(); name != nil {
			return *name
		}
	}
	if c, ok := e.client.(*redis.Client); ok && c.Options().Addr != failoverAddress {
		return c.Options().Addr
	}
	return "port " + v.info["tcp_port"]
}

// shards looks at the masters of a Cluster that keep slots.
func (e *Engine) shards(ctx context.Context) ([]*visit, []driver.Finding, error) {
	var r lacks
	text, err := e.place.nodes(ctx)
	if err != nil && strings.Contains(err.Error(), "cluster support disabled") {
		return nil, []driver.Finding{{Severity: driver.Critical, Code: "wrong-mode", Text: "the server is no part of a Cluster, but is used " +
			"like one: no lock can be had",
			Mend: "use a redis:// or redis+sentinel:// URL, or a client for one server"}}, nil
	}
	if err := r.note(err); err != nil {
		return nil, nil, explain(err)
	}
	if len(r.denied) > 0 {
		return nil, r.judge("", true), nil
	}
	nodes := keepers(text)
	seen := make([]*visit, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() {
			marker := e.record(n.first())
			v, err := e.visit(ctx, n.address, marker, func(ctx context.Context, f func(redis.Cmdable) error) error {
				return e.place.pinned(ctx, marker, func(tx *redis.Tx) error { return f(tx) })
			})
			if err != nil {
				v = newVisit(n.address)
				v.place.Role = "master"
				v.place.Err = silence(v.rights.note(err)) // a right that is missing is told of by itself
			}
			seen[i] = v
		})
	}
	work.Wait()
	return seen, e.judgeCover(nodes), nil
}

// judgeCover finds slots that nobody keeps.
func (e *Engine) judgeCover(nodes []node) []driver.Finding {
	covered := 0
	for _, n := range nodes {
		covered += n.count()
	}
	if covered >= slots {
		return nil
	}
	return []driver.Finding{{Severity: driver.Critical, Code: "cluster-not-covered",
		Text: fmt.Sprintf("%d of the %d slots of the Cluster are kept by no master: locks whose names are there cannot be had, and with "+
			"cluster-require-full-coverage none at all", slots-covered, slots),
		Mend: "give the slots to masters: redis-cli --cluster fix"}}
}
