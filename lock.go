package leasehold

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// Kind says what sort of thing a name stands for: KindLock, KindSemaphore or KindLatch. Equal names of
// different kinds have nothing to do with each other.
type Kind = driver.Kind

// The kinds.
const (
	KindLock      = driver.Lock // of Mutex, RWMutex and Election alike
	KindSemaphore = driver.Semaphore
	KindLatch     = driver.Latch
)

// lock is what Mutex, RWMutex, Semaphore and Election have in common: a name on
// an engine, with its settings. It never changes.
type lock struct {
	settings
	client *Client
	key    driver.Key
	size   int    // permits of a semaphore; 1 for locks
	holder string // public text
	named  bool   // the holder's text is of its own, as a leader's
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
	l.holder = c.holderOf(l.label)
	switch most := c.abilities.MaxTTL; {
	case c.err != nil:
		l.err = c.err
	case l.err != nil:
	case !validText(name):
		l.err = invalid("name", name, allowedText)
	case most > 0 && l.ttl > most && kind != driver.Latch: // a latch is no lease
		l.refuse("TTL", l.ttl, MinTTL.String()+" to "+most.String()+" on this engine")
	case size < 1 || size > maxSize:
		l.err = invalid("semaphore size", size, "1 to 2147483647")
	case kind == driver.Semaphore && !c.abilities.Semaphores, kind == driver.Latch && !c.abilities.Latches:
		l.err = l.failure("use", ErrUnsupported, nil)
	}
	return l
}

// drift is what is taken off a lease because clocks run at different rates: 1 % + 2 ms.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// validity is for how long after its start a lease may be relied on.
func validity(ttl time.Duration) time.Duration { return ttl - drift(ttl) }

func (l *lock) about(mode driver.Mode) About {
	return About{Kind: l.key.Kind, Name: l.key.Name, Label: l.label, Shared: mode == driver.Shared}
}

func (l *lock) failure(op string, err, cause error) *Error {
	return &Error{Op: op, Kind: l.key.Kind, Name: l.key.Name, Err: err, Cause: cause}
}

// plain reports whether leases of l are like any other of the same ttl, so that one
// can follow the other without the engine being told.
func (l *lock) plain() bool {
	return !l.noRenew && l.maxHold == 0 && l.atLeast == 0 && !l.named
}

// do runs fn under a lease that was just taken and releases it whatever happens.
func do(lease *Lease, err error, fn func(context.Context, *Lease) error) (result error) {
	if err != nil {
		return err
	}
	defer func() { result = lease.outcome(result, lease.Release()) }()
	return fn(lease.Context(), lease)
}

// outcome is what Do returns: the error of the work and, if the lease had ended under it, why. The work itself mostly knows no more than that its
// context was cancelled, if that.
func (l *Lease) outcome(work, released error) error {
	switch e, ok := errors.AsType[*Error](released); {
	case work == nil:
		return released
	case !ok, errors.Is(released, ErrUnknown), errors.Is(work, e.Err): // the lease was held to the end, or the work tells
		return work
	default:
		return l.hold.lock.failure("work under", e.Err, work)
	}
}

// longest is the longest ttl.
func (l *lock) longest() time.Duration {
	if most := l.client.abilities.MaxTTL; most > 0 {
		return min(most, MaxTTL)
	}
	return MaxTTL
}
