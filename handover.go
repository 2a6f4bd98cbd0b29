package leasehold

import (
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// handOverFor is how long a lock may go round inside this process before the engine is asked again. It
// bounds how long a waiter elsewhere stands back, on engines that cannot tell that there is one.
const handOverFor = 10 * time.Millisecond

// want is what a caller in the queue of this process wants.
type want struct {
	ttl   time.Duration
	label string
	plain bool
}

// gift is a tenure of a hold that is handed over; without a hold, it is since when the engine has not answered the one before.
type gift struct {
	hold   *hold
	tenure uint32
	token  uint64
	outage time.Time
}

func (l *lock) want(a *ask) want {
	return want{ttl: l.ttl, label: l.label, plain: l.plain() && a.mode == driver.Exclusive}
}

// pass hands the hold to the next in the queue of this process, as a new tenure with a token of its own
// from those reserved, and reports whether it did. To the engine it is the same owner: no request is
// sent. mu is held.
func (h *hold) pass() bool {
	l := h.lock
	c := l.client
	if !h.turn || h.spare == 0 || h.mode != driver.Exclusive || h.dropped || !l.plain() || c.life.Err() != nil {
		return false
	}
	now := driver.Now()
	if now.Since(h.origin) > handOverFor || h.left(now) < l.ttl/3 {
		return false
	}
	if w, ok := c.engine.(driver.Wanter); ok && w.Wanted(l.key) {
		return false
	}
	return c.queue.Pass(l.key, func(w want) (gift, bool) {
		if !w.plain || w.ttl != l.ttl || w.label != l.label {
			return gift{}, false
		}
		h.tenure++
		h.token++
		h.spare--
		h.count, h.since, h.endings = 1, now, nil
		h.handles.Store(1)
		return gift{hold: h, tenure: h.tenure, token: h.token}, true
	})
}
