// Package memory is an engine that keeps locks in the memory of this process.
//
// It is the reference engine: the shortest code that keeps the whole contract of package driver. It is for tests,
// examples, and programs whose parts share locks within one process. Clients that share an [Engine] exclude each other
// as clients of one server do. Nothing outlives the process.
//
// Both promises hold as long as the engine lives: tokens grow, and one owner at a time holds a name until its lease
// expires by the engine's [Clock].
package memory

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// Engine keeps locks in memory. It is safe for concurrent use. It need not be closed: it has no goroutines, and a timer
// only while somebody waits.
type Engine struct {
	unsupported
	clock Clock     // nil: the machine's clock
	start time.Time // the engine counts time in nanoseconds since then
	seed  maphash.Seed

	// tokens is the last token given. One counter serves all names, so nothing has to be kept for a free name.
	tokens atomic.Uint64

	locks, semaphores [shardCount]shard
	latches           latches
	data              dataByName
	records           records
}

// unsupported answers calls of what this engine cannot do.
type unsupported = driver.Unsupported

var (
	_ driver.Engine     = (*Engine)(nil)
	_ driver.Operator   = (*Engine)(nil)
	_ driver.AllTaker   = (*Engine)(nil)
	_ driver.Exchanger  = (*Engine)(nil)
	_ quorumnode.Node   = (*Engine)(nil)
	_ driver.Wanter     = (*Engine)(nil)
	_ driver.Latcher    = (*Engine)(nil)
	_ driver.DataKeeper = (*Engine)(nil)
)

// Option changes an engine when it is created.
type Option func(*Engine)

// WithClock makes leases expire by c instead of the machine's clock. A nil clock stands for the machine's. Clients
// still measure deadlines by the machine's clock.
func WithClock(c Clock) Option {
	return func(e *Engine) { e.clock = c }
}

// New returns an engine on which nothing is held.
func New(opts ...Option) *Engine {
	e := &Engine{seed: maphash.MakeSeed()}
	for _, opt := range opts {
		opt(e)
	}
	if e.clock == nil {
		e.start = time.Now()
	} else {
		e.start = e.clock.Now()
	}
	return e
}

// Abilities implements [driver.Engine]: the engine has every ability that an engine on one machine can have.
func (e *Engine) Abilities() driver.Abilities {
	return driver.Abilities{
		Name:       "memory",
		Shared:     true,
		Semaphores: true,
		Waiters:    true,
		Recalls:    true,
		Fair:       true,
		Local:      true,
	}
}

// Take implements [driver.Engine]. It has no effect if ctx has ended.
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return e.TakeFrom(ctx, quorumnode.Request{Request: r})
}

// TakeFrom implements [quorumnode.Node].
func (e *Engine) TakeFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	if r.Kind != driver.Lock && r.Kind != driver.Semaphore {
		err := fmt.Errorf("a %s cannot be taken: ask for a lock or a semaphore", r.Kind)
		return driver.Grant{}, driver.Permanent(err)
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, driver.NoEffect(err)
	}
	g, _, err := e.takeOrRecall(&r)
	return g, err
}

// takeLocked grants the request or refuses it. It refuses with ErrHeld and the owner's place in the queue, if the owner
// has one, or with ErrTooManyWaiters. The shard is locked.
func (e *Engine) takeLocked(s *shard, r *quorumnode.Request) (driver.Grant, *waiter, error) {
	now := e.now()
	en := s.entries[r.Name]
	if en == nil {
		en = s.addLocked(r.Name, now)
	} else {
		e.expireAndServeLocked(s, r.Name, en, now)
	}
	if h := en.find(r.Owner, 0); h != nil {
		en.extend(h, now, r.TTL)
		return h.grant(), nil, nil
	}
	if en.queue == nil && en.fits(&r.Request) {
		return e.grantLocked(en, r, now).grant(), nil, nil
	}
	w := en.queue.find(r.Owner)
	if w == nil && r.Join {
		if r.MaxWaiters > 0 && en.queue.len() >= r.MaxWaiters {
			return driver.Grant{}, nil, driver.ErrTooManyWaiters
		}
		w = s.joinLocked(en, r, now)
		e.serveLocked(s, r.Name, en)
	}
	return driver.Grant{}, w, driver.ErrHeld
}

// maxRange is the largest number of tokens that one grant reserves, so that no caller uses up the tokens of all.
const maxRange = 1024

// grantLocked makes the owner of the request a holder from now on. The shard is locked.
func (e *Engine) grantLocked(en *entry, r *quorumnode.Request, now int64) *hold {
	n := max(1, min(r.Tokens, maxRange))
	return en.add(hold{
		owner:   r.Owner,
		text:    r.Holder,
		token:   e.reserveTokens(uint64(n), r.Floor),
		tokens:  int32(n),
		mode:    r.Mode,
		recall:  r.Recall,
		weight:  r.Weight,
		granted: now,
		expires: after(now, r.TTL),
	})
}

// reserveTokens returns the first of n new tokens, none of which is below floor.
func (e *Engine) reserveTokens(n, floor uint64) uint64 {
	for {
		last := e.tokens.Load()
		token := max(last+1, floor)
		if e.tokens.CompareAndSwap(last, token+n-1) {
			return token
		}
	}
}

// Renew implements [driver.Engine]. It ignores ctx, since it answers for all items at once.
func (e *Engine) Renew(_ context.Context, batch []driver.Renewal, report func(i int, err error)) {
	now := e.now()
	for i := range batch {
		report(i, e.renew(&batch[i], now))
	}
}

func (e *Engine) renew(r *driver.Renewal, now int64) error {
	s := e.shard(r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	en, h := e.findHoldLocked(s, &r.Hold, now)
	if h == nil {
		return driver.ErrNotHeld
	}
	en.extend(h, now, r.TTL)
	return nil
}

// Release implements [driver.Engine]. It ignores ctx.
func (e *Engine) Release(_ context.Context, r driver.Release) error {
	s := e.shard(r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := e.now()
	en, h := e.findHoldLocked(s, &r.Hold, now)
	if en == nil {
		return driver.ErrNotHeld
	}
	if w := en.queue.find(r.Owner); w != nil {
		en.queue.remove(w)
		close(w.ready)
	}
	err := driver.ErrNotHeld
	if h != nil {
		err = nil
		if r.Keep > 0 {
			en.keep(h, now, r.Keep)
		} else {
			en.remove(h)
		}
	}
	e.serveLocked(s, r.Name, en)
	s.removeIfEmptyLocked(r.Name, en)
	return err
}

// findHoldLocked finds the entry of a name, and in it the owner's hold. What does not exist is nil. The shard is
// locked.
func (e *Engine) findHoldLocked(s *shard, h *driver.Hold, now int64) (*entry, *hold) {
	en := s.entries[h.Name]
	if en == nil {
		return nil, nil
	}
	e.expireAndServeLocked(s, h.Name, en, now)
	if s.removeIfEmptyLocked(h.Name, en) {
		return nil, nil
	}
	return en, en.find(h.Owner, h.Token)
}

// Wanted implements [driver.Wanter].
func (e *Engine) Wanted(k driver.Key) bool {
	s := e.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	en := s.entries[k.Name]
	return en != nil && en.queue != nil
}

// shard returns the shard that keeps the key.
func (e *Engine) shard(k driver.Key) *shard {
	i := maphash.String(e.seed, k.Name) % shardCount
	if k.Kind == driver.Semaphore {
		return &e.semaphores[i]
	}
	return &e.locks[i]
}

// now returns the nanoseconds since the engine was made.
func (e *Engine) now() int64 {
	if e.clock == nil {
		return int64(time.Since(e.start))
	}
	return int64(e.clock.Now().Sub(e.start))
}

// never is a moment that does not come.
const never = math.MaxInt64

// after returns the moment d after now, or never if that is too far away.
func after(now int64, d time.Duration) int64 {
	if int64(d) > never-now {
		return never
	}
	return now + int64(d)
}
