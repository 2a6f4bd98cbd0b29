package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// holder is one thread of Redisson, as far as one name goes: what it holds, it may lock again. A Lock has one, and the
// two locks of a ReadWriteLock have one together.
type holder struct {
	client *Client
	engine *engine
	name   string

	calls turn
	own   *leasehold.Client // of a fair lock, once it is used; belongs to the call that has the turn

	silent atomic.Bool // the server has left a request of a red lock unanswered

	mu        sync.Mutex
	lease     *leasehold.Lease // nil if it is not held
	counts    [2]int           // how often it is held in each mode
	leaseTime time.Duration    // how long it was taken for, or 0 if the watchdog keeps it
}

func (c *Client) newHolder(e *engine, name string) *holder {
	return &holder{client: c, engine: e, name: name, calls: newTurn()}
}

// fail returns an error of the library.
func (h *holder) fail(op string, err, cause error) error {
	return &leasehold.Error{Op: op, Kind: driver.Lock, Name: h.name, Err: err, Cause: cause}
}

// enter begins a call that locks: it waits for the turn, and makes Close wait until the call is left.
func (h *holder) enter(ctx context.Context, op string, limit time.Duration) (leave func(), _ error) {
	if err := h.calls.take(ctx, limit); err != nil {
		return nil, h.fail(op, err, context.Cause(ctx))
	}
	if err := h.client.begin(); err != nil {
		h.calls.end()
		return nil, h.fail(op, err, nil)
	}
	return func() {
		h.client.running.Done()
		h.calls.end()
	}, nil
}

// lock locks in a mode, or counts that it is held once more.
func (h *holder) lock(ctx context.Context, r request, mode driver.Mode, wait bool) error {
	op, began := "lock", time.Now()
	if !wait {
		op = "try lock"
	}
	leave, err := h.enter(ctx, op, r.wait)
	if err != nil {
		return err
	}
	defer leave()
	lease, err := h.heldFor(op, mode)
	if err != nil {
		return err
	}
	if lease != nil {
		if err := r.extend(ctx, lease, h.leaseTime, h.engine.watchdog); err != nil {
			return underOwnName(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.counts[mode]++
		return nil
	}
	if r.wait > 0 {
		r.wait = max(r.wait-time.Since(began), time.Millisecond)
	}
	if lease, err = h.take(ctx, r, mode, wait); err != nil {
		return underOwnName(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease, h.counts, h.leaseTime = lease, [2]int{}, r.lease
	h.counts[mode]++
	return nil
}

// underOwnName turns what the library says about a ttl into what the caller has given: a lease time.
func underOwnName(err error) error {
	if refused, ok := errors.AsType[*leasehold.ValueError](err); ok && refused.Field == "TTL" {
		renamed := *refused
		renamed.Field = "LeaseTime"
		return &renamed
	}
	return err
}

// take takes the lock on the server.
func (h *holder) take(ctx context.Context, r request, mode driver.Mode, wait bool) (*leasehold.Lease, error) {
	c, opts := h.leasehold(), r.options(h.engine.watchdog)
	exclusive := c.Mutex(h.name, opts...)
	lock, try := exclusive.Lock, exclusive.TryLock
	if h.engine.LockType() == redisson.ReadWrite {
		m := c.RWMutex(h.name, opts...)
		if lock, try = m.Lock, m.TryLock; mode == driver.Shared {
			lock, try = m.RLock, m.TryRLock
		}
	}
	if !wait {
		lock = try
	}
	if !r.outlives {
		return lock(callContext{ctx})
	}
	taking, letGo := newTakeContext(ctx)
	lease, err := lock(callContext{taking})
	if !letGo() && err == nil { // ctx has ended in the last moment
		_ = lease.Release()
		return nil, h.fail("lock", ctx.Err(), context.Cause(ctx))
	}
	return lease, err
}

// leasehold returns the client of the library that takes the lock. In one client, the first of several callers would
// wait for all of them, so each holder of a fair lock has its own, and thereby a place of its own in the server's
// queue.
func (h *holder) leasehold() *leasehold.Client {
	if h.engine.LockType() != redisson.Fair {
		return h.engine.client
	}
	if h.own == nil {
		h.own = h.client.newFairClient()
	}
	return h.own
}

// extend makes the lease of a lock that is locked again last as long as this request wants. had is the lease time that
// it was taken with.
func (r request) extend(ctx context.Context, lease *leasehold.Lease, had, watchdog time.Duration) error {
	wanted := r.lease
	if had != 0 && wanted == 0 {
		wanted = watchdog
	}
	if wanted == 0 {
		return nil
	}
	return lease.Extend(ctx, wanted)
}

// heldFor returns the lease with which the lock can be locked again, or nil if it is not held.
func (h *holder) heldFor(op string, mode driver.Mode) (*leasehold.Lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.isHeldLocked():
		return nil, nil
	case mode == driver.Exclusive && h.counts[mode] == 0:
		return nil, h.fail(op, leasehold.ErrUpgrade, nil)
	}
	return h.lease, nil
}

func (h *holder) isHeldLocked() bool { return h.lease != nil && h.lease.Err() == nil }

// unlock ends one lock call of a mode.
func (h *holder) unlock(mode driver.Mode) error {
	if err := h.unlockLost(mode); err != nil {
		return err
	}
	_ = h.calls.take(context.Background(), 0) // never fails
	defer h.calls.end()
	h.mu.Lock()
	if h.counts[mode] == 0 {
		h.mu.Unlock()
		return ErrNotHeld
	}
	h.counts[mode]--
	lease, last := h.lease, h.counts == [2]int{}
	downgrade := mode == driver.Exclusive && h.counts[mode] == 0 && !last
	if last {
		h.lease = nil
	}
	h.mu.Unlock()
	err := lease.Err()
	switch {
	case last:
		err = lease.Release()
	case downgrade && err == nil:
		ctx, cancel := context.WithTimeout(context.Background(), leasehold.DefaultRequestTimeout)
		defer cancel()
		err = lease.Downgrade(ctx)
		if errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			h.mu.Lock()
			h.counts[mode] = 1
			h.mu.Unlock()
			return fmt.Errorf("redisson: the lock is still held for writing: unlock it again: %w", err)
		}
	}
	if err != nil && !errors.Is(err, leasehold.ErrUnknown) && !errors.Is(err, leasehold.ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return err
}

// unlockLost ends one lock call of a mode, and returns an error, if the lock is not held any more. It needs no turn: a
// call that waits for the lock again may have that for long.
func (h *holder) unlockLost(mode driver.Mode) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.isHeldLocked():
		return nil
	case h.counts[mode] == 0:
		return ErrNotHeld
	}
	h.counts[mode]--
	err := h.lease.Err()
	if h.counts == [2]int{} {
		err = h.lease.Release()
		h.lease = nil
	}
	return fmt.Errorf("%w: %w", ErrNotHeld, err)
}

// contextOf returns the context of the lease, if the lock is held in one of some modes.
func (h *holder) contextOf(modes ...driver.Mode) context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease == nil || !slices.ContainsFunc(modes, func(m driver.Mode) bool { return h.counts[m] > 0 }) {
		return notHeld
	}
	return h.lease.Context()
}

// notHeld is the context of a lock that is not held.
var notHeld = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrNotHeld)
	return ctx
}()

// holdCount returns how often the lock is held in a mode.
func (h *holder) holdCount(mode driver.Mode) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isHeldLocked() {
		return 0
	}
	return h.counts[mode]
}

// token returns the token of the lock if it is held in a mode. Types without tokens of the server have none.
func (h *holder) token(mode driver.Mode) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.engine.LockType(); t == redisson.Plain || t == redisson.Spin || !h.isHeldLocked() || h.counts[mode] == 0 {
		return 0
	}
	return h.lease.Token()
}

// holders asks the server who holds the lock in one of some modes.
func (h *holder) holders(ctx context.Context, op string, modes ...driver.Mode) (holders []driver.Holder, _ error) {
	err := h.client.ask(ctx, op, driver.Lock, h.name, func(ctx context.Context) error {
		all, err := h.engine.List(ctx, driver.Query{Kind: driver.Lock, Name: h.name})
		if err != nil || len(all) == 0 {
			return err
		}
		for _, each := range all[0].Holders {
			if slices.Contains(modes, each.Mode) {
				holders = append(holders, each)
			}
		}
		return nil
	})
	return holders, err
}

// forceUnlock takes the lock away from all that hold it now in one of some modes, and reports whether anybody did.
func (h *holder) forceUnlock(ctx context.Context, modes ...driver.Mode) (found bool, _ error) {
	const op = "force unlock"
	holders, err := h.holders(ctx, op, modes...)
	for _, each := range holders {
		err := h.client.ask(ctx, op, driver.Lock, h.name, func(ctx context.Context) error {
			err := h.engine.ForceRelease(ctx, driver.Key{Kind: driver.Lock, Name: h.name}, each.Token)
			if errors.Is(err, driver.ErrNotHeld) { // it has unlocked meanwhile
				return nil
			}
			found = found || err == nil
			return err
		})
		if err != nil {
			return found, err
		}
	}
	return found, err
}
