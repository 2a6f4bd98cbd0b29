package objects

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// MultiLock holds several locks as one: all of them, or with [NewRedLock] a majority. They may be on different servers,
// of different clients. It is safe for concurrent use, as a [Lock] is.
//
// Use the locks otherwise only to ask, for a token or whether they are locked: a MultiLock has no methods for that, as
// in Redisson.
type MultiLock struct {
	locks []*Lock
	need  int

	calls turn

	mu    sync.Mutex
	holds []*multiHold // one for each time it is held
}

// NewMultiLock returns a lock that is held while all of the given locks are: getMultiLock in Redisson. At least one,
// and no two of one client that have the same name. What it refuses is a leasehold.ErrInvalid.
//
// While it waits for one of the locks it holds none of the others, so programs that name the locks in different orders
// do not block each other for good.
func NewMultiLock(locks ...*Lock) (*MultiLock, error) { return newMultiLock(len(locks), locks) }

// NewRedLock returns a lock that is held while a majority of the given locks is, each on a server of its own:
// RedissonRedLock in Java, where it is deprecated. It is for programs that share such locks with Java. Package
// redis/redlock is the better engine otherwise: it knows servers that have lost their data, and has tokens.
//
// All servers are asked at the same time, and the majority decides: servers that fail, or hang, delay nobody as long as
// they are a minority. One that grants later joins the lock, or is unlocked in the background. If those that have
// answered do not decide, an attempt waits for the others for a tenth of the lease, 50 ms to 1 s.
//
// Each server's lease counts from before its own request, less 1 % and 2 ms for clocks of different speed, and the lock
// is lost when those that are left are no majority.
func NewRedLock(locks ...*Lock) (*MultiLock, error) { return newMultiLock(len(locks)/2+1, locks) }

func newMultiLock(need int, locks []*Lock) (*MultiLock, error) {
	if len(locks) == 0 {
		return nil, fmt.Errorf("redisson: no locks are given: name at least one: %w", leasehold.ErrInvalid)
	}
	for i, l := range locks {
		// Locks of one name are the same, or count as locks of another type to each other: nobody gets both.
		same := func(other *Lock) bool { return l.h.name == other.h.name && l.h.client == other.h.client }
		if l == nil || slices.ContainsFunc(locks[:i], same) {
			return nil, fmt.Errorf("redisson: lock %d is nil, or its name is that of another one: %w",
				i+1, leasehold.ErrInvalid)
		}
	}
	return &MultiLock{locks: slices.Clone(locks), need: need, calls: newTurn()}, nil
}

// fail returns an error of the library.
func (m *MultiLock) fail(op string, err, cause error) error {
	names := make([]string, len(m.locks))
	for i, l := range m.locks {
		names[i] = l.h.name
	}
	slices.Sort(names)
	return &leasehold.Error{
		Op: op, Kind: driver.Lock, Name: strings.Join(slices.Compact(names), ", "), Err: err, Cause: cause,
	}
}

// Lock waits until enough of the locks are held, or until ctx ends. If so many servers fail that the others are not
// enough, it tries for 5 s, and returns their errors.
func (m *MultiLock) Lock(ctx context.Context, opts ...LockOption) error {
	return m.take(ctx, newRequest(opts), "lock", true)
}

// TryLock reports whether enough of the locks are held now. It does not wait, unless [WaitTime] says so. It returns an
// error only if so many servers fail that the others are not enough.
func (m *MultiLock) TryLock(ctx context.Context, opts ...LockOption) (bool, error) {
	r := newRequest(opts)
	return r.isHeld(ctx, m.take(ctx, r, "try lock", r.wait > 0))
}

// take locks. Between two attempts it pauses.
func (m *MultiLock) take(ctx context.Context, r request, op string, wait bool) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.wait > 0 {
		limited, cancel = context.WithTimeout(ctx, r.wait)
	}
	defer cancel()
	if m.calls.take(limited, 0) != nil {
		return m.ended(ctx, op, nil)
	}
	defer m.calls.end()
	try := m.tryAll
	if m.need < len(m.locks) {
		try = m.tryMajority
	}
	var outage time.Time // since when too many servers fail
	for first := 0; ; {
		h := newMultiHold(m.need)
		refused, err := try(limited, h, r, first, wait)
		if h.isComplete() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.holds = append(m.holds, h)
			return nil
		}
		_ = h.unlock(m.answerLimit(r))
		switch {
		case limited.Err() != nil:
			return m.ended(ctx, op, err)
		case err == nil && !wait:
			return m.fail(op, leasehold.ErrHeld, nil)
		case err == nil:
			outage = time.Time{}
		case outage.IsZero():
			outage = time.Now()
		}
		if err != nil && (!wait || m.need == len(m.locks) || !errors.Is(err, leasehold.ErrUnavailable) ||
			driver.IsPermanent(err) || time.Since(outage) > leasehold.DefaultRequestTimeout) {
			return err
		}
		if pause(limited) != nil {
			return m.ended(ctx, op, err)
		}
		first = refused
	}
}

// ended returns the error of a call whose context or WaitTime has ended. err is that of its last attempt.
func (m *MultiLock) ended(ctx context.Context, op string, err error) error {
	switch {
	case ctx.Err() != nil:
		return m.fail(op, ctx.Err(), context.Cause(ctx))
	case errors.Is(err, leasehold.ErrUnavailable):
		return m.fail(op, leasehold.ErrUnavailable, err)
	}
	return m.fail(op, leasehold.ErrTimeout, nil)
}

// tryAll takes the first lock, waits for it if it may, and then tries the others. It says which one was refused.
func (m *MultiLock) tryAll(
	ctx context.Context, h *multiHold, r request, first int, wait bool,
) (refused int, _ error) {
	for i := range m.locks {
		at := (first + i) % len(m.locks)
		l, ok, err := m.locks[at], true, error(nil)
		if wait && i == 0 {
			err = l.Lock(ctx, LeaseTime(r.lease), outlive)
		} else {
			ok, err = l.TryLock(ctx, LeaseTime(r.lease), outlive)
		}
		if err != nil || !ok {
			return at, err
		}
		h.join(l)
	}
	return first, nil
}

// minPause and maxPause limit the pause between two attempts.
const minPause, maxPause = 5 * time.Millisecond, 50 * time.Millisecond

// pause waits a little between two attempts, so that others who want the same locks come through.
func pause(ctx context.Context) error {
	timer := time.NewTimer(minPause + rand.N(maxPause-minPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock ends one Lock or TryLock. It returns [ErrNotHeld] if the lock is not held, also if it was lost meanwhile. It
// returns when so many servers have confirmed that others can have the lock; the rest goes on in the background.
func (m *MultiLock) Unlock() error {
	_ = m.calls.take(context.Background(), 0) // never fails
	defer m.calls.end()
	m.mu.Lock()
	if len(m.holds) == 0 {
		m.mu.Unlock()
		return ErrNotHeld
	}
	h := m.holds[len(m.holds)-1]
	m.holds = m.holds[:len(m.holds)-1]
	m.mu.Unlock()
	if lost := h.lostCause(); lost != nil {
		_ = h.unlock(0)
		return fmt.Errorf("%w: %w", ErrNotHeld, lost)
	}
	return h.unlock(0)
}

// Context returns a context for the work under the lock. It is cancelled when so many locks are lost that the rest is
// not enough, or when the lock is unlocked. If the lock is not held, the context has ended.
func (m *MultiLock) Context() context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.holds) == 0 {
		return notHeld
	}
	return m.holds[len(m.holds)-1].ctx
}

// HoldCount returns how often the lock is held: 0 if it is not, or was lost.
func (m *MultiLock) HoldCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.holds); n > 0 && m.holds[n-1].lostCause() == nil {
		return n
	}
	return 0
}
