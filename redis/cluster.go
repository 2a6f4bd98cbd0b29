package redis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
)

// node is a node of a Cluster.
type node struct {
	address    string
	myself     bool   // this node was asked
	epoch      string // its config epoch, which grows when it gets a slot from another node
	slotText   string // its slots as text; those that are moving to or from it are in brackets
	slotRanges []slotRange
}

// slotRange is a range of slots, both ends included.
type slotRange struct{ first, last int }

// firstSlot returns the node's lowest slot. The node must have one.
func (n node) firstSlot() uint16 {
	lowest := slots
	for _, a := range n.slotRanges {
		lowest = min(lowest, a.first)
	}
	return uint16(lowest)
}

// slotCount returns how many slots the node has.
func (n node) slotCount() (all int) {
	for _, a := range n.slotRanges {
		all += a.last - a.first + 1
	}
	return all
}

// hasSlot reports whether the node has a slot.
func (n node) hasSlot(slot uint16) bool {
	return slices.ContainsFunc(n.slotRanges, func(r slotRange) bool {
		return r.first <= int(slot) && int(slot) <= r.last
	})
}

// isGivingAway reports whether the node is giving a slot to another one.
func (n node) isGivingAway(slot uint16) bool {
	return strings.Contains(n.slotText, fmt.Sprintf("[%d->-", slot))
}

// slots yields the node's slots, a few hundred at a time.
func (n node) slots() iter.Seq[[]uint16] {
	const chunkSize = 500
	var all []uint16
	for _, a := range n.slotRanges {
		for slot := a.first; slot <= a.last; slot++ {
			all = append(all, uint16(slot))
		}
	}
	return slices.Chunk(all, chunkSize)
}

// rangesText returns the node's slots as text, such as "0-99,200-200".
func (n node) rangesText() string {
	var b strings.Builder
	for i, a := range n.slotRanges {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d-%d", a.first, a.last)
	}
	return b.String()
}

// parseNodes reads the answer to CLUSTER NODES. See https://redis.io/docs/latest/commands/cluster-nodes/.
func parseNodes(text string) (nodes []node) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		n := node{
			myself:   strings.Contains(fields[2], "myself"),
			epoch:    fields[6],
			slotText: strings.Join(fields[8:], " "),
		}
		n.address, _, _ = strings.Cut(fields[1], "@")
		for _, part := range fields[8:] {
			from, to, several := strings.Cut(part, "-")
			if !several {
				to = from
			}
			first, err := strconv.ParseUint(from, 10, 16)
			last, wrong := strconv.ParseUint(to, 10, 16)
			if err == nil && wrong == nil && last < slots { // others are slots that are moving
				n.slotRanges = append(n.slotRanges, slotRange{int(first), int(last)})
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// mastersOf returns the nodes that have slots, in the order of their addresses. All others are replicas, or have just
// joined.
func mastersOf(text string) []node {
	nodes := slices.DeleteFunc(parseNodes(text), func(n node) bool { return len(n.slotRanges) == 0 })
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.address, b.address) })
	return nodes
}

// askedNode returns the node that was asked, if it has slots.
func askedNode(text string) (node, bool) {
	nodes := mastersOf(text)
	i := slices.IndexFunc(nodes, func(n node) bool { return n.myself })
	if i < 0 {
		return node{}, false
	}
	return nodes[i], true
}

// onEachMaster calls f for all masters of a Cluster at the same time, each with a connection to one of them, and
// returns all errors. It finds a master by a key in one of its slots, because that is the only way that every kind of
// client has.
func (rt *router) onEachMaster(ctx context.Context, f func(tx *redis.Tx) error) error {
	text, err := rt.clusterNodes(ctx)
	if err != nil {
		return explainError(err)
	}
	nodes := mastersOf(text)
	if len(nodes) == 0 {
		return driver.NoEffect(fmt.Errorf("redis: CLUSTER NODES lists no node with slots: "+
			"assign the slots of the Cluster: %w", errReply))
	}
	errs := make([]error, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() { errs[i] = explainError(rt.onOneConnection(ctx, rt.config.masterRecordKey(n.firstSlot()), f)) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// clusterNodes asks any node of a Cluster for all nodes.
func (rt *router) clusterNodes(ctx context.Context) (string, error) {
	return askHedged(ctx, func(ctx context.Context) (string, error) { return rt.client.ClusterNodes(ctx).Result() })
}

// askHedged asks repeatedly, after a pause or a network error, without giving up the earlier requests: the client may
// have asked a node that is frozen or gone, and picks any other one the next time. The first answer counts.
func askHedged(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	const maxRequests, pause = 10, 150 * time.Millisecond
	type answer struct {
		text string
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, maxRequests)
	again := time.NewTicker(pause)
	defer again.Stop()
	for asked, failed := 0, 0; ; {
		if asked < maxRequests {
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
			if failed++; failed == maxRequests {
				return "", a.err
			}
		case <-again.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
