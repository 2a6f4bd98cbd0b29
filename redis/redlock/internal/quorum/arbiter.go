package quorum

import (
	"cmp"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// arbiters returns the nodes in the order in which they are the arbiter of a name. The order is the same for all
// programs that call the nodes by the same names, and each node comes first for as many names as any other (rendezvous
// hashing).
func (e *Engine) arbiters(k driver.Key) []*node {
	name := hash(k.Name)
	order := slices.Clone(e.nodes)
	slices.SortStableFunc(order, func(a, b *node) int {
		return cmp.Compare(mixBits(b.hash^name), mixBits(a.hash^name))
	})
	return order
}

// arbiter returns the node at which waiters of a name queue, as far as this process can tell: the first one that is not
// silent.
func (e *Engine) arbiter(k driver.Key) *node {
	order := e.arbiters(k)
	for _, n := range order {
		if !n.silent.Load() {
			return n
		}
	}
	return order[0]
}

// hash is FNV-1a, with its last bits spread over all of it.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return mixBits(h)
}

// mixBits spreads the last bits of a hash over all of it: the finalizer of MurmurHash3.
func mixBits(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
