package memory

import (
	"sort"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// hold is what one owner has been granted. Moments are those of Engine.now.
type hold struct {
	owner   string // the secret; empty once released with Keep
	text    string
	token   uint64
	weight  int
	granted int64
	expires int64
	tokens  int32
	mode    driver.Mode
	recall  func() (inUse bool) // Request.Recall
	passed  *waiter             // the waiter to which the name was passed as this owner; nil if it was not
}

func (h *hold) grant() driver.Grant {
	return driver.Grant{Token: h.token, Tokens: int(h.tokens), Recallable: h.recall != nil}
}

// entry holds the holders and waiters of one name.
type entry struct {
	holds      []hold // in the order of their tokens
	firstHold  [1]hold
	nextExpiry int64 // no lease expires before this moment
	usedWeight int   // the sum of the holds' weights
	queue      *queue
}

// find returns the owner's hold, or nil. A token helps to find it among many. The pointer is valid until a hold is
// added or removed.
func (en *entry) find(owner string, token uint64) *hold {
	if token != 0 && len(en.holds) > 1 {
		i := sort.Search(len(en.holds), func(i int) bool { return en.holds[i].token >= token })
		if i < len(en.holds) && en.holds[i].owner == owner {
			return &en.holds[i]
		}
	}
	for i := range en.holds {
		if en.holds[i].owner == owner {
			return &en.holds[i]
		}
	}
	return nil
}

// fits reports whether the request can be granted beside the holds.
func (en *entry) fits(r *driver.Request) bool {
	if r.Kind == driver.Semaphore {
		return r.Weight <= r.Size-en.usedWeight
	}
	if len(en.holds) == 0 {
		return true
	}
	// All holders of a lock have the same mode.
	return r.Mode == driver.Shared && en.holds[0].mode == driver.Shared
}

// add adds a hold, whose token must be larger than those of the others.
func (en *entry) add(h hold) *hold {
	en.holds = append(en.holds, h)
	en.usedWeight += h.weight
	en.nextExpiry = min(en.nextExpiry, h.expires)
	return &en.holds[len(en.holds)-1]
}

// extend makes the lease of a hold last until ttl from now at least. It never shortens a lease: the request may be an
// old one that arrives late, after the owner was promised more.
func (en *entry) extend(h *hold, now int64, ttl time.Duration) {
	h.expires = max(h.expires, after(now, ttl))
}

// keep leaves a hold taken for d from now, without an owner.
func (en *entry) keep(h *hold, now int64, d time.Duration) {
	h.owner, h.recall = "", nil
	h.expires = after(now, d)
	en.nextExpiry = min(en.nextExpiry, h.expires)
}

// remove removes a hold that find returned.
func (en *entry) remove(h *hold) {
	h.expires = distantPast
	en.removeUntil(distantPast)
}

// distantPast is before all other moments.
const distantPast = -1

// removeExpired removes the holds whose leases have expired.
func (en *entry) removeExpired(now int64) {
	if now >= en.nextExpiry {
		en.removeUntil(now)
	}
}

// removeUntil removes the holds that expire by now, and finds out when the next one does.
func (en *entry) removeUntil(now int64) {
	left := en.holds[:0]
	en.nextExpiry, en.usedWeight = never, 0
	for _, h := range en.holds {
		if h.expires <= now {
			continue
		}
		left = append(left, h)
		en.usedWeight += h.weight
		en.nextExpiry = min(en.nextExpiry, h.expires)
	}
	clear(en.holds[len(left):]) // free the strings
	en.holds = left
	if len(left) == 0 {
		en.holds = en.firstHold[:0]
	}
}
