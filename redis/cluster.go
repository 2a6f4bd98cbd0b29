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

// node is one of a Cluster.
type node struct {
	address string
	myself  bool   // it is the one that was asked
	epoch   string // its config epoch, which grows when it gets a slot from another
	own     string // its slots as text, with those on their way to or from it in brackets
	areas   []area // its slots
}

// area is slots that follow each other.
type area struct{ first, last int }

// first is its lowest slot. It must have some.
func (n node) first() uint16 {
	lowest := slots
	for _, a := range n.areas {
		lowest = min(lowest, a.first)
	}
	return uint16(lowest)
}

// count is how many slots it has.
func (n node) count() (all int) {
	for _, a := range n.areas {
		all += a.last - a.first + 1
	}
	return all
}

// has reports whether it has a slot.
func (n node) has(slot uint16) bool {
	return slices.ContainsFunc(n.areas, func(a area) bool { return a.first <= int(slot) && int(slot) <= a.last })
}

// gives reports whether it is giving a slot to another.
func (n node) gives(slot uint16) bool { return strings.Contains(n.own, fmt.Sprintf("[%d->-", slot)) }

// slots are its slots, some hundreds at a time.
func (n node) slots() iter.Seq[[]uint16] {
	const most = 500
	var all []uint16
	for _, a := range n.areas {
		for slot := a.first; slot <= a.last; slot++ {
			all = append(all, uint16(slot))
		}
	}
	return slices.Chunk(all, most)
}

// ranges are its slots as text, as in "0-99,200-200".
func (n node) ranges() string {
	var b strings.Builder
	for i, a := range n.areas {
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
		n := node{myself: strings.Contains(fields[2], "myself"), epoch: fields[6], own: strings.Join(fields[8:], " ")}
		n.address, _, _ = strings.Cut(fields[1], "@")
		for _, part := range fields[8:] {
			from, to, several := strings.Cut(part, "-")
			if !several {
				to = from
			}
			first, err := strconv.ParseUint(from, 10, 16)
			last, wrong := strconv.ParseUint(to, 10, 16)
			if err == nil && wrong == nil && last < slots { // others are slots on their way
				n.areas = append(n.areas, area{int(first), int(last)})
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// keepers are the nodes that keep slots, in the order of their addresses. All others are replicas, or have just joined.
func keepers(text string) []node {
	nodes := slices.DeleteFunc(parseNodes(text), func(n node) bool { return len(n.areas) == 0 })
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.address, b.address) })
	return nodes
}

// self is the node that was asked, if it keeps slots.
func self(text string) (node, bool) {
	nodes := keepers(text)
	i := slices.IndexFunc(nodes, func(n node) bool { return n.myself })
	if i < 0 {
		return node{}, false
	}
	return nodes[i], true
}

// eachMaster calls f with a connection to each server of a Cluster that keeps slots, at the same time, and returns all errors. It finds its
// way by a key on each server, because that is all that every kind of client can do.
func (p *place) eachMaster(ctx context.Context, f func(tx *redis.Tx) error) error {
	text, err := p.nodes(ctx)
	if err != nil {
		return explain(err)
	}
	nodes := keepers(text)
	if len(nodes) == 0 {
		return driver.NoEffect(fmt.Errorf("redis: CLUSTER NODES tells of no node with slots: give the Cluster its slots: %w", errReply))
	}
	errs := make([]error, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() { errs[i] = explain(p.pinned(ctx, p.config.record(n.first()), f)) })
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
