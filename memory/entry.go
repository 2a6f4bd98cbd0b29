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
}

func (h *hold) grant() driver.Grant {
	return driver.Grant{Token: h.token, Tokens: int(h.tokens)}
}

// entry is who holds a name and who waits for it.
type entry struct {
	holds   []hold // by token
	room    [1]hold
	soonest int64 // no lease ends before
	used    int   // the weights of the holds together
	queue   *queue
}

// find returns what the owner holds, or nil. A token helps to find it among many.
// The answer is good until holds are added or dropped.
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
		return r.Weight <= r.Size-en.used
	}
	if len(en.holds) == 0 {
		return true
	}
	// All holders of a lock have the same mode.
	return r.Mode == driver.Shared && en.holds[0].mode == driver.Shared
}

// add adds a hold. Its token is larger than those of the others.
func (en *entry) add(h hold) *hold {
	en.holds = append(en.holds, h)
	en.used += h.weight
	en.soonest = min(en.soonest, h.expires)
	return &en.holds[len(en.holds)-1]
}

// extend makes the lease of a hold last for ttl from now at least. It never ends
// a lease sooner: the request may be an old one that comes late, and the owner may
// have been promised more meanwhile.
func (en *entry) extend(h *hold, now int64, ttl time.Duration) {
	h.expires = max(h.expires, after(now, ttl))
}

// keep leaves a hold taken for so long from now, but in nobody's hands.
func (en *entry) keep(h *hold, now int64, d time.Duration) {
	h.owner = ""
	h.expires = after(now, d)
	en.soonest = min(en.soonest, h.expires)
}

// drop removes a hold that find has found.
func (en *entry) drop(h *hold) {
	h.expires = ended
	en.dropUntil(ended)
}

// ended is a moment before all others.
const ended = -1

// expire removes the holds whose lease has ended.
func (en *entry) expire(now int64) {
	if now >= en.soonest {
		en.dropUntil(now)
	}
}

// dropUntil removes the holds that end by now, and looks when the next one does.
func (en *entry) dropUntil(now int64) {
	left := en.holds[:0]
	en.soonest, en.used = never, 0
	for _, h := range en.holds {
		if h.expires <= now {
			continue
		}
		left = append(left, h)
		en.used += h.weight
		en.soonest = min(en.soonest, h.expires)
	}
	clear(en.holds[len(left):]) // let go of the strings
	en.holds = left
	if len(left) == 0 {
		en.holds = en.room[:0]
	}
}
