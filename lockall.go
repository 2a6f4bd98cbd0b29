package leasehold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/timelimit"
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

// takeTogether tries once to take all locks in one request. If it returns neither a set nor an error, the caller takes
// them one after the other. If a.hasTurn is set then, the caller keeps the turn of the first name.
func (c *Client) takeTogether(ctx context.Context, locks []*lock, a *acquisition) (*LeaseSet, error) {
	engine, ok := c.engine.(driver.AllTaker)
	first := locks[0]
	if !ok || len(locks) < 2 || first.callError(ctx, "", nil) != nil {
		return nil, nil
	}
	if slices.ContainsFunc(locks, func(l *lock) bool { return ctx.Value(l) != nil }) {
		return nil, nil // one of them is entered again
	}
	if err := c.countLeases(first, a.op, len(locks)); err != nil {
		first.observeFailed(ctx, a, err)
		return nil, err
	}
	uncounted := len(locks)
	defer func() { c.uncountLeases(uncounted) }()
	for i, l := range locks {
		turn := c.queue.Try(l.key)
		if h := turn.Value.hold; h != nil { // it is idle, or about to be released
			rest, _ := h.follow()
			_ = rest.runUntil(ctx)
		}
		if !turn.HasTurn {
			c.endTurns(locks[min(1, i):i])
			a.hasTurn = i > 0
			return nil, nil
		}
	}
	a.hasTurn = true // of each name
	waiting, cancel := withTimeout(ctx, first.waitLimit, errWaitLimit)
	defer cancel()
	holds := make([]*hold, len(locks))
	for i, l := range locks {
		holds[i] = newHold(l, a)
	}
	start := driver.Now()
	grants, err := c.sendTakeAll(waiting, engine, holds)
	if errors.Is(err, driver.ErrHeld) || errors.Is(err, driver.ErrNotTogether) {
		c.endTurns(locks[1:])
		a.knownHeld = errors.Is(err, driver.ErrHeld)
		return nil, nil
	}
	set, err := acceptAll(ctx, a, holds, grants, start, err)
	uncounted -= len(set.leases)
	if err == nil {
		return set, nil
	}
	rest := holds[len(set.leases):]
	callErr := rest[0].lock.callError(waiting, a.op, errNotKnownHeld)
	if callErr == nil {
		callErr = rest[0].lock.newError(a.op, ErrUnavailable, err)
	}
	cleanUpAll(rest)
	c.endTurns(locks[len(set.leases):])
	rest[0].lock.observeFailed(ctx, a, callErr)
	set.Release()
	return nil, callErr
}

func (c *Client) endTurns(locks []*lock) {
	for _, l := range locks {
		c.queue.EndTurn(l.key)
	}
}

// sendTakeAll sends one request for all holds.
func (c *Client) sendTakeAll(ctx context.Context, engine driver.AllTaker, holds []*hold) ([]driver.Grant, error) {
	batch := make([]driver.Request, len(holds))
	ttl := MaxTTL
	for i, h := range holds {
		batch[i] = h.takeRequest(true)
		ttl = min(ttl, batch[i].TTL)
	}
	var grants []driver.Grant
	var err error
	if c.abilities.Local {
		grants, err = engine.TakeAll(ctx, batch)
	} else {
		limiter := c.takeLimits.For(batch[0].Key) // an engine takes only names of one server in one step
		limit, refused := limiter.Admit(ctx, c.lifetime, c.requests.TimeFor(validFor(ttl)))
		if refused != nil {
			return nil, refused
		}
		grants, err = timelimit.Send(ctx, &c.requests, limit, func(ctx context.Context) ([]driver.Grant, error) {
			return engine.TakeAll(ctx, batch)
		})
		limiter.Done(err == nil || driver.IsNo(err))
	}
	for _, h := range holds {
		h.noteOutcome(err)
	}
	if err == nil && len(grants) != len(batch) {
		err = fmt.Errorf("the engine answered %d grants to %d requests", len(grants), len(batch))
	}
	return grants, err
}

// acceptAll makes leases of grants, each with a context derived from that of the lease before. On an error, which may
// be that of the request, the set has the leases of the holds before the first one without a lease.
func acceptAll(
	ctx context.Context, a *acquisition, holds []*hold, grants []driver.Grant, start driver.Instant, err error,
) (*LeaseSet, error) {
	set := new(LeaseSet)
	if err != nil {
		return set, err
	}
	for i, h := range holds {
		from := start
		if !grants[i].Start.IsZero() {
			from = grants[i].Start
		}
		if err := h.accept(grants[i], from, true); err != nil {
			return set, err
		}
		lease := h.lock.newGrantedLease(ctx, a, turnTransfer{hold: h, tenure: h.tenure, token: h.token}, false)
		set.leases = append(set.leases, lease)
		ctx = lease.Context()
	}
	return set, nil
}

// cleanUpAll cleans up holds at the same time: if the client is closed, each of them waits for its release.
func cleanUpAll(holds []*hold) {
	var all sync.WaitGroup
	for _, h := range holds {
		all.Go(h.cleanUp)
	}
	all.Wait()
}
