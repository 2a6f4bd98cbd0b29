package quorum

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// arbiters are the nodes in the order in which they are the arbiter of a name. It is the same for all who call the nodes by the
// same names, and each node is the first for as many names as any other (rendezvous hashing).
func (e *Engine) arbiters(k driver.Key) []*node {
	weight := make([]uint64, len(e.nodes))
	for i, n := range e.nodes {
		h := fnv.New64a()
		_, _ = h.Write([]byte(n.name + "\x00" + k.Name))
		weight[i] = mix(h.Sum64())
	}
	order := slices.Clone(e.nodes)
	slices.SortStableFunc(order, func(a, b *node) int { return cmp.Compare(weight[b.index], weight[a.index]) })
	return order
}

// mix spreads the last bits of a hash over all of it.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
