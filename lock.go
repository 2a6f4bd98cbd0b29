package leasehold

import (
	"context"
	"errors"
	"math"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/argument"
)

// lock is what Mutex, RWMutex, Semaphore, Election and Latch have in common: a name on an engine, with its settings. It
// is immutable.
type lock struct {
	settings
	client           *Client
	key              driver.Key
	size             int    // permits of a semaphore; 1 for locks
	holder           string // public text about the holder
	hasOwnHolderText bool   // the holder text is the ID of a candidate
}

// maxSize keeps sums of permits far from overflow, on any engine.
const maxSize = math.MaxInt32

func newLock(c *Client, kind driver.Kind, name string, size int, opts []Option) *lock {
	l := &lock{
		settings: c.defaults,
		client:   c,
		key:      driver.Key{Kind: kind, Name: name},
		size:     size,
	}
	for _, o := range opts {
		o(&l.settings)
	}
	l.holder = c.holderText(l.label)
	switch {
	case c.err != nil:
		l.err = c.err
	case l.err != nil:
	case !argument.IsText(name):
		l.err = newValueError("name", name, argument.AllowedText)
	case l.ttl > c.maxTTL && kind != driver.Latch: // the ttl of a latch is not that of a lease
		l.refuse("TTL", l.ttl, MinTTL.String()+" to "+c.maxTTL.String()+" on this engine")
	case size < 1 || size > maxSize:
		l.err = newValueError("semaphore size", size, "1 to 2147483647")
	case kind == driver.Semaphore && !c.abilities.Semaphores, kind == driver.Latch && !c.hasLatches(),
		l.linger > 0 && !c.abilities.Recalls:
		l.err = l.newError("use", ErrUnsupported, nil)
	}
	return l
}

func (l *lock) about(mode driver.Mode) About {
	return About{Kind: l.key.Kind, Name: l.key.Name, Label: l.label, Shared: mode == driver.Shared}
}

func (l *lock) newError(op string, err, cause error) *Error {
	return &Error{Op: op, Kind: l.key.Kind, Name: l.key.Name, Err: err, Cause: cause}
}

// isPlain reports whether leases of l are like any other of the same ttl, so that one can follow another without a
// request to the engine.
func (l *lock) isPlain() bool {
	return !l.noRenew && l.maxHold == 0 && l.atLeast == 0 && !l.hasOwnHolderText
}

// runUnder runs fn under a lease that was just granted, and releases the lease in any case.
func runUnder(lease *Lease, err error, fn func(context.Context, *Lease) error) (result error) {
	if err != nil {
		return err
	}
	defer func() { result = lease.joinErrors(result, lease.Release()) }()
	return fn(lease.Context(), lease)
}

// joinErrors returns the error of Do: that of the work and, if the lease had ended before its release, the cause. The
// work itself usually knows at most that its context was cancelled.
func (l *Lease) joinErrors(work, released error) error {
	switch e, ok := errors.AsType[*Error](released); {
	case work == nil:
		return released
	case !ok, errors.Is(released, ErrUnknown): // the lease was held to the end
		return work
	case errors.Is(work, e.Err): // the work says itself why the lease ended
		return work
	default:
		return l.hold.lock.newError("work under", e.Err, work)
	}
}

// holderText returns the holder text of a lock with that label. A label that is too long is left out.
func (c *Client) holderText(label string) string {
	if !c.holderGiven && label != "" {
		if text := c.holder + " " + label; argument.IsText(text) {
			return text
		}
	}
	return c.holder
}
