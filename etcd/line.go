package etcd

import (
	"cmp"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// place is a key of an owner as it was read.
type place struct {
	path              string
	created, modified int64 // revisions
	lease             clientv3.LeaseID
	card
}

// alone is the range of its key.
func (p place) alone() span { return span{p.path, p.path + "\x00"} }

// line are the places of a name, holders and waiters, in the order in which they came.
type line []place

func readLine(kvs []*mvccpb.KeyValue) line {
	l := make(line, len(kvs))
	for i, kv := range kvs {
		l[i] = place{string(kv.Key), kv.CreateRevision, kv.ModRevision, clientv3.LeaseID(kv.Lease), readCard(kv.Value)}
	}
	slices.SortFunc(l, func(a, b place) int { return cmp.Compare(a.created, b.created) })
	return l
}

// find returns the index of the first place of an owner, by its mark, or -1.
func (l line) find(mark string) int {
	return slices.IndexFunc(l, func(p place) bool { return p.mark == mark })
}

// at returns the index of the place on a key, or -1.
func (l line) at(path string) int {
	return slices.IndexFunc(l, func(p place) bool { return p.path == path })
}

// has reports whether a place is still there, in the same state.
func (l line) has(was place) bool {
	return slices.ContainsFunc(l, func(p place) bool { return p.path == was.path && p.created == was.created && p.state == was.state })
}

// inside returns how many of the line hold: those at its head who are compatible. The others wait.
//
// Whoever is inside stays there until the own key is gone. Keys are only ever added behind all others, and what is removed, or made shared,
// makes no place worse: the run of those who fit never ends before somebody who was in it. So a grant needs no write, and can be seen by
// everybody alike. With permits, each place counts with the size that it asked for itself.
func (l line) inside(kind driver.Kind) int {
	used := 0
	for i, p := range l {
		switch {
		case kind == driver.Semaphore && p.weight > p.size-used:
			return i
		case kind == driver.Lock && i > 0 && !(p.state.shared() && l[i-1].state.shared()):
			return i
		}
		used += p.weight
	}
	return len(l)
}

// owned returns the owner's place, and whether it holds: nothing if there is none, or if it is kept, and so nobody's.
func (l line) owned(kind driver.Kind, mark string) (own *place, holds bool) {
	i := l.find(mark)
	if i < 0 || !l[i].state.owned() {
		return nil, false
	}
	return &l[i], i < l.inside(kind)
}
