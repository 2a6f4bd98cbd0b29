package etcd

import (
	"crypto/rand"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// The keys of an engine, and which of its owners has which.

// idLength is enough to tell engines apart: each character is five bits.
const idLength = 16

// move gives all who come from now on other keys, since something is under way that may still be so when those of now are used again: a removal
// without a condition would take away what another owner holds, however long the member was hanging on which it comes back to life. mu is held, or
// nobody else knows of the members yet.
func (ms *members) move() { ms.id = rand.Text()[:idLength] }

// number finds a key that no other owner has. One that is forgotten leaves its key to others: nothing that is under way can put it there, or
// remove it. mu is held.
func (ms *members) number(k driver.Key) int {
	var taken []bool
	for m := ms.all[k]; m != nil; m = m.next {
		for m.number >= len(taken) {
			taken = append(taken, false)
		}
		taken[m.number] = true
	}
	if free := slices.Index(taken, false); free >= 0 {
		return free
	}
	return len(taken)
}

// clear notes that a member has no place. mu is held.
func (ms *members) clear(m *member) {
	m.path = m.home
	m.created, m.granted, m.left, m.on, m.read = 0, false, false, nil, sighting{}
}

// known returns the key of a member, and since when its owner has a place there, with a token if that is given. It returns 0 if that is
// not known for sure, or if the place may be nobody's, or if there may be another one.
func (ms *members) known(m *member, token uint64) (path string, created int64, granted bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.left || m.late > 0 || m.ending != nil || token != 0 && token != uint64(m.created) || m.path != m.home {
		return "", 0, false
	}
	return m.path, m.created, m.granted
}

// leaves says that a place is about to be made nobody's.
func (ms *members) leaves(m *member) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.left = true
}
