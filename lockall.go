package leasehold

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

// LeaseSet is a set of leases on several names that are held together.
type LeaseSet struct{ leases []*Lease }

// LockAll waits for the locks of all names. It is all or nothing: if one cannot be granted, the others are released. A
// name that is given twice counts once.
//
// If all are free and the engine can take them in one step, LockAll sends one request. Otherwise it takes them one
// after the other, in sorted order, so that two callers that want the same names never wait for each other for ever.
//
// The options are those of the client, see WithDefaults; a WaitLimit is for all names together. Errors are those of
// Mutex.Lock.
func (c *Client) LockAll(ctx context.Context, names ...string) (*LeaseSet, error) {
	if len(names) == 0 {
		return nil, newValueError("number of names", 0, "at least 1")
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	began := time.Now()
	locks := make([]*lock, len(names))
	for i, name := range names {
		locks[i] = c.Mutex(name).lock
		if err := locks[i].err; err != nil {
			return nil, err // before anything is sent
		}
	}
	a := acquisition{op: "lock", began: began}
	if set, err := c.takeTogether(ctx, locks, &a); set != nil || err != nil {
		return set, err
	}
	return c.takeInTurn(ctx, locks, a)
}

// takeInTurn takes locks one after the other. If first.hasTurn is set, the caller has the turn of the first name.
func (c *Client) takeInTurn(ctx context.Context, locks []*lock, first acquisition) (*LeaseSet, error) {
	set := new(LeaseSet)
	inner, began, a := ctx, first.began, first
	for i, l := range locks {
		if i > 0 {
			a = acquisition{op: first.op, knownHeld: a.knownHeld}
		}
		if limit := c.defaults.waitLimit; limit > 0 {
			l.waitLimit = max(time.Until(began.Add(limit)), 1)
		}
		lease, err := l.acquire(inner, &a)
		if err != nil {
			if cause := context.Cause(inner); cause != nil && ctx.Err() == nil && errors.Is(err, inner.Err()) {
				err = l.newError("lock all, while waiting for", cause, nil) // an earlier lease of the set has ended
			}
			set.Release()
			return nil, err
		}
		set.leases = append(set.leases, lease)
		// Each lease's context is derived from that of the lease before: the last context ends with the first lease
		// that is lost.
		inner = lease.Context()
	}
	return set, nil
}

// Context returns a context for the work under all the locks. It is cancelled as soon as one of the leases ends. See
// Lease.Context.
func (s *LeaseSet) Context() context.Context { return s.leases[len(s.leases)-1].Context() }

// Deadline returns the earliest deadline of the set.
func (s *LeaseSet) Deadline() time.Time {
	earliest := s.leases[0].Deadline()
	for _, l := range s.leases[1:] {
		if d := l.Deadline(); d.Before(earliest) {
			earliest = d
		}
	}
	return earliest
}

// Leases returns the leases, sorted by name. Each has its own token.
func (s *LeaseSet) Leases() []*Lease { return slices.Clone(s.leases) }

// Token returns the fencing token of one of the names, and an ErrInvalid if the name is not in the set.
func (s *LeaseSet) Token(name string) (uint64, error) {
	for _, l := range s.leases {
		if l.Name() == name {
			return l.Token(), nil
		}
	}
	return 0, newValueError("name", name, "one of the "+strconv.Itoa(len(s.leases))+" names of the set")
}

// Release releases all leases, the last one first. It returns the errors of those that had ended or whose release was
// not confirmed. See Lease.Release.
func (s *LeaseSet) Release() error {
	var errs []error
	for _, l := range slices.Backward(s.leases) {
		errs = append(errs, l.Release())
	}
	return errors.Join(errs...)
}
