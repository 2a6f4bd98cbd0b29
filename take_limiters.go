package leasehold

import (
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// takeLimiters has a takeLimiter for each server, as far as the engine tells servers apart. A server that is frozen
// answers neither renewals nor takes; that must not slow down takes on the other servers.
type takeLimiters struct {
	router    driver.Router // nil if there is one limiter for all servers
	single    takeLimiter
	perServer *[maxTakeLimiters]takeLimiter

	// processLateUntil is when the process stops to count as late with its renewals, for all servers.
	processLateUntil atomic.Int64
}

// maxTakeLimiters is the number of limiters. Servers beyond that share them.
const maxTakeLimiters = 64

func (t *takeLimiters) init(engine driver.Engine) {
	t.single.processLateUntil = &t.processLateUntil
	router, several := engine.(driver.Router)
	if !several {
		return
	}
	t.router, t.perServer = router, new([maxTakeLimiters]takeLimiter)
	for i := range t.perServer {
		t.perServer[i].processLateUntil = &t.processLateUntil
	}
}

// forKey returns the limiter of the server of a key.
func (t *takeLimiters) forKey(k driver.Key) *takeLimiter {
	if t.router == nil {
		return &t.single
	}
	return &t.perServer[t.router.Route(k)%maxTakeLimiters]
}

// noteProcessLate notes that this process was late to send renewals, and counts it as late until the time until.
func (t *takeLimiters) noteProcessLate(until time.Duration) {
	for {
		before := t.processLateUntil.Load()
		if int64(until) <= before || t.processLateUntil.CompareAndSwap(before, int64(until)) {
			return
		}
	}
}
