package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// node is one of a Cluster that keeps slots.
type node struct {
	myself bool   // it is the one that was asked
	first  uint16 // its lowest slot
}

// parseNodes reads the answer to CLUSTER NODES. It leaves out who keeps no slots: replicas, and nodes that have just joined.
// See https://redis.io/docs/latest/commands/cluster-nodes/.
func parseNodes(text string) (nodes []node) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		first := slots
		for _, area := range fields[8:] {
			from, _, _ := strings.Cut(area, "-")
			if n, err := strconv.ParseUint(from, 10, 16); err == nil { // others are slots on their way
				first = min(first, int(n))
			}
		}
		if first < slots {
			nodes = append(nodes, node{strings.Contains(fields[2], "myself"), uint16(first)})
		}
	}
	return nodes
}

// marker is the key under which a server is remembered. In a Cluster it is in the first slot that the server has,
// so that it goes along with what the server keeps.
func (c *config) marker(first uint16) string {
	return "{" + anchors()[first] + "}" + c.prefix + ":server"
}

// eachMaster calls f with a connection to each server of a Cluster that keeps slots, at the same time, and returns all errors. It finds its
// way by a key on each server, because that is all that every kind of client can do.
func (p *place) eachMaster(ctx context.Context, f func(tx *redis.Tx) error) error {
	text, err := p.nodes(ctx)
	if err != nil {
		return explain(err)
	}
	nodes := parseNodes(text)
	if len(nodes) == 0 {
		return driver.NoEffect(fmt.Errorf("redis: CLUSTER NODES tells of no node with slots: give the Cluster its slots: %w", errReply))
	}
	errs := make([]error, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() { errs[i] = explain(p.pinned(ctx, p.config.marker(n.first), f)) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// nodes asks any node of a Cluster for all of them.
func (p *place) nodes(ctx context.Context) (string, error) {
	return hedged(ctx, func(ctx context.Context) (string, error) { return p.client.ClusterNodes(ctx).Result() })
}

// hedged asks again after a while, or after an error of the network, and again, without giving up the questions before: the client may have asked a node that is
// frozen or gone, and asks any other the next time. The first answer counts.
func hedged(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	const most, pause = 10, 150 * time.Millisecond
	type answer struct {
		text string
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, most)
	again := time.NewTicker(pause)
	defer again.Stop()
	for asked, failed := 0, 0; ; {
		if asked < most {
			asked++
			go func() {
				text, err := ask(ctx)
				answers <- answer{text, err}
			}()
		}
		select {
		case a := <-answers:
			if _, replied := errors.AsType[redis.Error](a.err); a.err == nil || replied {
				return a.text, a.err
			}
			if failed++; failed == most {
				return "", a.err
			}
		case <-again.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
