package leasehold

import (
	"errors"
	"fmt"
	"math"
)

// Limits of a client, unless WithMaxWaiters and WithMaxLeases say otherwise.
const (
	// DefaultMaxWaiters is how many may wait for one name.
	DefaultMaxWaiters = 10_000
	// DefaultMaxLeases is how many leases a client has and asks for at the same time.
	DefaultMaxLeases = 1_000_000
)

// WithMaxWaiters limits how many may wait for one name, by default 10,000. The one who would be one more gets ErrCrowded at
// once. It holds among the callers of this client, of whom one at a time waits on the engine, and on the engine
// among all the processes that wait: so calls that pile up on one name do not fill the memory of either. Whoever waits
// already stays, and tries do not wait. An engine may count roughly, or not at all: its documentation says so.
// 1 to 2147483647.
func WithMaxWaiters(most int) ClientOption {
	return func(c *Client) { c.atMost(&c.maxWaiters, "limit of waiters", most) }
}

// WithMaxLeases limits how many leases the client has and asks for at the same time, by default 1,000,000. A call that
// asks for one more gets ErrFull, and nothing is sent: so a program that takes ever more names does not fill the memory
// of the engine, and its own. Calls that wait count, and so do leases that are over but not cleaned up yet; a lease that
// is entered again counts once. 1 to 2147483647.
func WithMaxLeases(most int) ClientOption {
	return func(c *Client) { c.atMost(&c.maxLeases, "limit of leases", most) }
}

func (c *Client) atMost(limit *int, field string, most int) {
	if most < 1 || most > math.MaxInt32 {
		c.defaults.refuse(field, most, "1 to 2147483647")
		return
	}
	*limit = most
}

// begins counts calls that are about to ask for one lease each, or refuses them. ends must follow for those that come to
// nothing; of the others the leases are counted from then on.
func (c *Client) begins(l *lock, op string, calls int) error {
	if c.leases.Add(int64(calls)) <= int64(c.maxLeases) {
		return nil
	}
	c.ends(calls)
	return l.failure(op, ErrFull, fmt.Errorf("it has or asks for %d leases, and WithMaxLeases allows no more: "+
		"release what is done with, or allow more", c.maxLeases))
}

func (c *Client) ends(calls int) { c.leases.Add(-int64(calls)) }

// become puts the hold into another phase, and counts it while there is something of it on the engine. Until it is
// granted, the call that asks is counted. mu is held.
func (h *hold) become(p phase) {
	switch counted := h.phase == held || h.phase == cleaning; {
	case !counted && p == cleaning:
		h.lock.client.leases.Add(1)
	case counted && p == over:
		h.lock.client.leases.Add(-1)
	}
	h.phase = p
}

// crowdedHere is the answer to a caller for whom there is no room in the queue of this process.
func (l *lock) crowdedHere(op string) error {
	return l.crowded(op, errors.New("they wait in this process"))
}

// crowded is the answer to a caller for whom there is no room in a queue.
func (l *lock) crowded(op string, where error) error {
	return l.failure(op, ErrCrowded, fmt.Errorf("%w, and WithMaxWaiters allows no more than %d: "+
		"find out who keeps it for so long, or why so many want it, or allow more", where, l.client.maxWaiters))
}
