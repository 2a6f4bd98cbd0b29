package leasehold

import (
	"errors"
	"fmt"
	"math"
)

// Limits of a client, unless WithMaxWaiters and WithMaxLeases say otherwise.
const (
	// DefaultMaxWaiters is how many callers may wait for one name.
	DefaultMaxWaiters = 10_000
	// DefaultMaxLeases is how many leases a client may have and ask for at the same time.
	DefaultMaxLeases = 1_000_000
)

// WithMaxWaiters limits how many callers may wait for one name, from 1 to 2147483647, by default 10,000. One
// more caller gets ErrTooManyWaiters at once. The limit applies to the callers of this client, of whom one at
// a time waits on the engine, and to the processes that wait on the engine: so calls that pile up on one name
// do not fill the memory of either. A caller that waits already stays, and tries do not wait. An engine may
// count roughly, or not at all: see its documentation.
func WithMaxWaiters(n int) ClientOption {
	return func(c *Client) { c.setLimit(&c.maxWaiters, "limit of waiters", n) }
}

// WithMaxLeases limits how many leases the client has and asks for at the same time, from 1 to 2147483647, by default
// 1,000,000. One more call gets ErrFull, and nothing is sent: so a program that takes ever more names fills neither the
// engine's memory nor its own. Calls that wait count, and so do leases that have ended but are not cleaned up yet; a
// lease that is entered again counts once.
func WithMaxLeases(n int) ClientOption {
	return func(c *Client) { c.setLimit(&c.maxLeases, "limit of leases", n) }
}

func (c *Client) setLimit(limit *int, field string, n int) {
	if n < 1 || n > math.MaxInt32 {
		c.defaults.refuse(field, n, "1 to 2147483647")
		return
	}
	*limit = n
}

// countLeases counts calls that are about to ask for one lease each, or refuses them. The caller uncounts those that
// fail; the others count as leases from then on.
func (c *Client) countLeases(l *lock, op string, calls int) error {
	if c.leaseCount.Add(int64(calls)) <= int64(c.maxLeases) {
		return nil
	}
	c.uncountLeases(calls)
	return l.newError(op, ErrFull, fmt.Errorf("it has or asks for %d leases, and WithMaxLeases allows no more: "+
		"release leases that are no longer needed, or raise the limit", c.maxLeases))
}

func (c *Client) uncountLeases(calls int) { c.leaseCount.Add(-int64(calls)) }

// setPhaseLocked sets the phase of the hold, and counts the hold as a lease while the engine may have something of it.
// Until it is granted, the call counts instead.
func (h *hold) setPhaseLocked(p phase) {
	switch counted := h.phase == phaseHeld || h.phase == phaseCleaning; {
	case !counted && p == phaseCleaning:
		h.lock.client.leaseCount.Add(1)
	case counted && p == phaseEnded:
		h.lock.client.leaseCount.Add(-1)
	}
	h.phase = p
}

// tooManyLocalWaitersError returns the error of a caller that the local queue has no room for.
func (l *lock) tooManyLocalWaitersError(op string) error {
	return l.tooManyWaitersError(op, errors.New("they wait in this process"))
}

// tooManyWaitersError returns the error of a caller that a queue has no room for.
func (l *lock) tooManyWaitersError(op string, where error) error {
	return l.newError(op, ErrTooManyWaiters, fmt.Errorf("%w, and WithMaxWaiters allows no more than %d: "+
		"find out who holds it for so long, or why so many want it, or raise the limit", where, l.client.maxWaiters))
}
