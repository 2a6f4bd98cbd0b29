package objects

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
)

// MultiLock holds several locks as one: all of them, or with [NewRedLock] a majority. They may be on different servers,
// of different clients. It is safe for concurrent use, as a [Lock] is. The locks must not be used otherwise meanwhile.
type MultiLock struct {
	locks []*Lock
	need  int

	calls turn // one call after the other

	mu    sync.Mutex
	holds []multiHold // one for each time it is held
}

// multiHold is what one Lock or TryLock has locked.
type multiHold struct {
	locks []*Lock
	ctx   context.Context
	end   context.CancelCauseFunc
}

// NewMultiLock returns a lock that is held while all of the given locks are: getMultiLock in Redisson. At least one.
//
// While it waits for one of the locks it holds none of the others, so programs that name the locks in different orders
// do not block each other for good.
func NewMultiLock(locks ...*Lock) (*MultiLock, error) { return newMultiLock(len(locks), locks) }

// NewRedLock returns a lock that is held while a majority of the given locks is, each on a server of its own:
// getRedLock in Redisson, where it is deprecated. It is for programs that share such locks with Java. Package
// redis/redlock is the better engine otherwise: it knows servers that have lost their data, and has tokens.
func NewRedLock(locks ...*Lock) (*MultiLock, error) { return newMultiLock(len(locks)/2+1, locks) }

func newMultiLock(need int, locks []*Lock) (*MultiLock, error) {
	if len(locks) == 0 {
		return nil, errors.New("redisson: no locks are given: name at least one")
	}
	for i, l := range locks {
		same := func(other *Lock) bool { return l == other || l.name == other.name && l.engine == other.engine }
		if l == nil || slices.ContainsFunc(locks[:i], same) {
			return nil, fmt.Errorf("redisson: lock %d is nil, or named twice: name each lock once", i+1)
		}
	}
	return &MultiLock{locks: slices.Clone(locks), need: need, calls: newTurn()}, nil
}

// Lock waits until enough of the locks are held, or until ctx ends. It ignores [WaitTime].
func (m *MultiLock) Lock(ctx context.Context, opts ...LockOption) error {
	_, err := m.take(ctx, newRequest(opts), true)
	return err
}

// TryLock reports whether enough of the locks are held now. It does not wait, unless [WaitTime] says so.
func (m *MultiLock) TryLock(ctx context.Context, opts ...LockOption) (bool, error) {
	r := newRequest(opts)
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.wait > 0 {
		limited, cancel = context.WithTimeout(ctx, r.wait)
	}
	defer cancel()
	ok, err := m.take(limited, r, r.wait > 0)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return ok, err
}

func (m *MultiLock) take(ctx context.Context, r request, wait bool) (bool, error) {
	if err := m.calls.take(ctx); err != nil {
		return false, err
	}
	defer m.calls.end()
	ctx, letGo := newTakeContext(ctx)
	defer letGo()
	try := m.tryAll
	if m.need < len(m.locks) {
		try = m.tryMajority
	}
	for first := 0; ; {
		held, refused, err := try(ctx, r, first, wait)
		switch {
		case held != nil && letGo():
			m.noteHeld(held)
			return true, nil
		case held != nil: // ctx has ended in the last moment
			unlockAll(held)
			return false, ctx.Err()
		case err != nil:
			return false, err
		}
		if !wait {
			return false, nil
		}
		if err := pause(ctx); err != nil {
			return false, err
		}
		first = refused
	}
}

// tryAll takes the first lock, waits for it if it may, and then tries the others. If one of them is refused, it
// releases all and says which.
func (m *MultiLock) tryAll(ctx context.Context, r request, first int, wait bool) (held []*Lock, refused int, _ error) {
	for i := range m.locks {
		at := (first + i) % len(m.locks)
		l, ok, err := m.locks[at], true, error(nil)
		if wait && i == 0 {
			err = l.Lock(ctx, LeaseTime(r.lease))
		} else {
			ok, err = l.TryLock(ctx, LeaseTime(r.lease))
		}
		if err != nil || !ok {
			unlockAll(held)
			return nil, at, err
		}
		held = append(held, l)
	}
	for at, l := range m.locks {
		if l.HoldCount() == 0 { // its lease has ended meanwhile
			unlockAll(held)
			return nil, at, nil
		}
	}
	return held, 0, nil
}

// minPause and maxPause limit the pause between two attempts.
const minPause, maxPause = 5 * time.Millisecond, 50 * time.Millisecond

// tryMajority tries all locks at the same time. If too few are granted, it releases them.
func (m *MultiLock) tryMajority(ctx context.Context, r request, _ int, _ bool) (held []*Lock, _ int, _ error) {
	granted, errs := make([]bool, len(m.locks)), make([]error, len(m.locks))
	var work sync.WaitGroup
	for i, l := range m.locks {
		work.Go(func() { granted[i], errs[i] = l.TryLock(ctx, LeaseTime(r.lease)) })
	}
	work.Wait()
	failed := 0
	for i, l := range m.locks {
		switch {
		case granted[i] && l.HoldCount() > 0:
			held = append(held, l)
		case errs[i] != nil:
			failed++
		}
	}
	if len(held) >= m.need {
		return held, 0, nil
	}
	unlockAll(held)
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if failed > len(m.locks)-m.need {
		return nil, 0, errors.Join(errs...)
	}
	return nil, 0, nil
}

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

func unlockAll(locks []*Lock) error {
	var errs []error
	for _, l := range locks {
		errs = append(errs, l.Unlock())
	}
	return errors.Join(errs...)
}

// noteHeld notes a hold of some locks. Its context ends when too many of them are lost.
func (m *MultiLock) noteHeld(locks []*Lock) {
	h := multiHold{locks: locks}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	var mu sync.Mutex
	left := len(locks)
	for _, l := range locks {
		ctx := l.Context()
		stop := context.AfterFunc(ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left < m.need {
				h.end(context.Cause(ctx))
			}
		})
		context.AfterFunc(h.ctx, func() { stop() })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds = append(m.holds, h)
}

// Unlock ends one Lock or TryLock. It returns [ErrNotHeld] if the lock is not held, also if it was lost meanwhile.
func (m *MultiLock) Unlock() error {
	_ = m.calls.take(context.Background()) // never fails
	defer m.calls.end()
	m.mu.Lock()
	if len(m.holds) == 0 {
		m.mu.Unlock()
		return ErrNotHeld
	}
	h := m.holds[len(m.holds)-1]
	m.holds = m.holds[:len(m.holds)-1]
	m.mu.Unlock()
	lost := context.Cause(h.ctx)
	held, errs, gone := len(h.locks), []error{}, []error{}
	for _, l := range h.locks {
		if err := l.Unlock(); errors.Is(err, ErrNotHeld) {
			held--
			gone = append(gone, err)
		} else {
			errs = append(errs, err)
		}
	}
	h.end(leasehold.ErrReleased)
	switch {
	case lost != nil:
		return fmt.Errorf("%w: %w", ErrNotHeld, lost)
	case held < m.need: // it was lost without notice until now
		return errors.Join(gone...)
	}
	return errors.Join(errs...)
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
	if n := len(m.holds); n > 0 && m.holds[n-1].ctx.Err() == nil {
		return n
	}
	return 0
}
