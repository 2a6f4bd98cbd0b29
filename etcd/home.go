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

// number finds a key that no other owner has. One that is forgotten leaves its key to others: nothing that is under way can remove it, or put it there
// where another is. mu is held.
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
