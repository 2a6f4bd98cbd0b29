package etcd

import (
	"cmp"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// entry is one owner's etcd key, as it was read.
type entry struct {
	path              string
	created, modified int64 // revisions
	etcdLease         clientv3.LeaseID
	record
}

// ownRange returns the range that contains only this entry.
func (en entry) ownRange() keyRange { return keyRange{en.path, en.path + "\x00"} }

// queue holds the entries of a name, holders and waiters, in the order in which they came.
type queue []entry

func readQueue(kvs []*mvccpb.KeyValue) queue {
	q := make(queue, len(kvs))
	for i, kv := range kvs {
		q[i] = entry{
			string(kv.Key), kv.CreateRevision, kv.ModRevision, clientv3.LeaseID(kv.Lease), readRecord(kv.Value),
		}
	}
	slices.SortFunc(q, func(a, b entry) int { return cmp.Compare(a.created, b.created) })
	return q
}

// indexOfOwner returns the index of the first entry with an owner mark, or -1.
func (q queue) indexOfOwner(mark string) int {
	return slices.IndexFunc(q, func(en entry) bool { return en.mark == mark })
}

// indexOfPath returns the index of the entry with an etcd key, or -1.
func (q queue) indexOfPath(path string) int {
	return slices.IndexFunc(q, func(en entry) bool { return en.path == path })
}

// hasUnchanged reports whether an entry still exists, in the same state.
func (q queue) hasUnchanged(was entry) bool {
	return slices.ContainsFunc(q, func(en entry) bool {
		return en.path == was.path && en.created == was.created && en.state == was.state
	})
}

// holderCount returns how many of the entries are holders: the first ones that are compatible. The others wait.
//
// A holder remains one until its own key is removed. Keys are only added at the end, and a removal or a downgrade never
// makes another entry less compatible, so the run of compatible entries never becomes shorter than a holder's position.
// That is why a grant needs no write, and all clients see the same holders. In a semaphore, each entry counts with the
// size that it asked for itself.
func (q queue) holderCount(kind driver.Kind) int {
	used := 0
	for i, en := range q {
		switch {
		case kind == driver.Semaphore && en.weight > en.size-used:
			return i
		case kind == driver.Lock && i > 0 && !(en.state.isShared() && q[i-1].state.isShared()):
			return i
		}
		used += en.weight
	}
	return len(q)
}

// findOwned returns the owner's entry and whether it is a holder. It returns nil if there is none, or if it is kept,
// and so has no owner any more.
func (q queue) findOwned(kind driver.Kind, mark string) (own *entry, holds bool) {
	i := q.indexOfOwner(mark)
	if i < 0 || !q[i].state.isOwned() {
		return nil, false
	}
	return &q[i], i < q.holderCount(kind)
}
