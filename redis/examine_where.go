package redis

import (
	"context"
	"fmt"
	"slices"
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

// only is the marker of a server that is no part of a Cluster.
func (e *Engine) only() string { return "{" + e.prefix + "}:server" }

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
	nodes := readNodes(text)
	seen := make([]*visit, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() {
			marker := e.marker(n.first)
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
func (e *Engine) judgeCover(nodes []shard) []driver.Finding {
	covered := 0
	for _, n := range nodes {
		covered += n.slots
	}
	if covered >= slots {
		return nil
	}
	return []driver.Finding{{Severity: driver.Critical, Code: "cluster-not-covered",
		Text: fmt.Sprintf("%d of the %d slots of the Cluster are kept by no master: locks whose names are there cannot be had, and with "+
			"cluster-require-full-coverage none at all", slots-covered, slots),
		Mend: "give the slots to masters: redis-cli --cluster fix"}}
}

// shard is a master of a Cluster that keeps slots.
type shard struct {
	address string
	node
	slots int
}

// readNodes reads the answer to CLUSTER NODES, in which each node begins with another one, and returns all in the order of their addresses. See parseNodes.
func readNodes(text string) (all []shard) {
	for line := range strings.Lines(text) {
		found := parseNodes(line)
		if len(found) == 0 {
			continue
		}
		fields := strings.Fields(line)
		address, _, _ := strings.Cut(fields[1], "@")
		s := shard{address: address, node: found[0]}
		for _, area := range fields[8:] {
			var from, to int
			switch n, _ := fmt.Sscanf(area, "%d-%d", &from, &to); {
			case strings.HasPrefix(area, "["): // on its way
			case n == 2:
				s.slots += to - from + 1
			case n == 1:
				s.slots++
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b shard) int { return strings.Compare(a.address, b.address) })
	return all
}
