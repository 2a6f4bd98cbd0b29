package etcd

import (
	"crypto/rand"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// The etcd keys that an engine uses for its owners.

// keyIDLength is enough to tell engines apart: each character is five bits.
const keyIDLength = 16

// renewKeyIDLocked makes all later owners use other keys. It is called when a removal without a condition may still be
// in flight: if it arrived after another owner has got the same key, it would remove that owner's lock. A request can
// arrive late without limit, as a member may hang and go on. mu is held, or nobody else knows of the ownedKeys yet.
func (ks *ownedKeys) renewKeyIDLocked() { ks.keyID = rand.Text()[:keyIDLength] }

// freeNumberLocked returns the smallest number that no owner of the name has. A forgotten owner's key is free for
// others: no request in flight can remove it, or put it there while another has it. mu is held.
func (ks *ownedKeys) freeNumberLocked(k driver.Key) int {
	var taken []bool
	for owned := ks.byKey[k]; owned != nil; owned = owned.next {
		for owned.number >= len(taken) {
			taken = append(taken, false)
		}
		taken[owned.number] = true
	}
	if free := slices.Index(taken, false); free >= 0 {
		return free
	}
	return len(taken)
}
