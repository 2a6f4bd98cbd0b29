package leasehold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/agenda"
)

// hold is what one owner has on the engine, from the first request to the last. While it is held, it
// stands for one lease after another: callers of this process may hand it on. Each such
// stretch is a tenure.
//
// Locks are taken in the order hold.mu, then those of the local queue and of the renewer. None
// is held during a request to the engine or a call of an observer.
type hold struct {
	lock   *lock
	place  string // in the engine's queue: the first owner of the call
	weight int
	asked  driver.Mode // the mode that was asked for

	// handles counts the leases of the current tenure that are neither released nor dropped.
	// The garbage collector counts down too, so it is not under mu.
	handles atomic.Int32

	mu     sync.Mutex
	owner  string
	phase  phase
	mode   driver.Mode
	turn   bool           // has the turn of the local queue
	start  driver.Instant // the lease lasts from here
	valid  time.Duration  // for so long
	origin driver.Instant // when the engine granted it
	first  uint64         // first token of the grant
	spare  int            // tokens after the current one that are reserved

	tenure  uint32
	token   uint64
	count   int            // leases of the tenure that are not released
	since   driver.Instant // beginning of the tenure
	alone   [1]*Lease      // memory for young
	young   []*Lease       // leases of the tenure that the garbage collector does not watch yet
	endings []*ending      // contexts of the leases of the tenure, as far as somebody has asked for them
	cause   error          // why the hold ended

	// What the renewer and the clean-up keep; times are on the renewer's clock.
	entry     agenda.Entry[*hold]
	next      time.Duration // the next request
	failures  int           // requests in a row without an answer
	uncertain time.Duration // until when a request of unknown outcome may still take effect
	requests  int           // takes and waits sent
	forget    time.Duration // when the clean-up may stop whatever it heard
	short     bool          // the first lease is a short one, to be renewed to the whole ttl
	danger    bool          // observers were told
	dropped   bool          // the caller lost all leases without releasing them
}

// phase is the stage of a hold's life.
type phase uint8

const (
	asking   phase = iota // not granted yet
	held                  // granted and valid
	cleaning              // over, but the engine may still have it
	over
)

func newHold(l *lock, a *ask, turn bool) *hold {
	h := &hold{lock: l, owner: newOwner(), mode: a.mode, weight: max(a.weight, 1), asked: a.mode, turn: turn}
	h.place = h.owner
	h.entry.Value, h.young = h, h.alone[:0]
	return h
}

// successor is the hold with which a call goes on when the owner of h must not be used in a take any more. It has
// the place and the turn of h.
func (h *hold) successor(a *ask) *hold {
	next := newHold(h.lock, a, h.turn)
	next.place = h.place
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn = false
	return next
}

func (h *hold) ref() driver.Hold {
	return driver.Hold{Key: h.lock.key, Owner: h.owner, Token: h.first, Mode: h.asked}
}

// toRelease is what the engine is asked to release, and for how long to keep it taken. mu is held.
func (h *hold) toRelease(keep time.Duration) driver.Release {
	return driver.Release{Hold: h.ref(), Place: h.place, Keep: keep}
}

// take asks the engine once. An answer that comes later than the lease would last is of no use.
func (h *hold) take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := h.lock.client
	if c.abilities.Local {
		return c.engine.Take(ctx, r)
	}
	gate := c.gates.of(r.Key)
	limit, err := c.letIn(ctx, gate, c.limit(validity(r.TTL)))
	if err != nil {
		return driver.Grant{}, err
	}
	start := driver.Now()
	g, err := h.takeWithin(ctx, r, limit)
	gate.leave(c.renewer.now(), err == nil || driver.IsNo(err))
	h.note(err, r.TTL)
	if g.Start.IsZero() {
		g.Start = start
	}
	return g, err
}

// takeWithin does what request does, but most takes are made in place, and then it costs no closures.
func (h *hold) takeWithin(ctx context.Context, r driver.Request, limit time.Duration) (driver.Grant, error) {
	c := h.lock.client
	switch {
	case c.inPlace(ctx, limit):
	case c.starter != nil:
		return h.startTake(ctx, r, limit)
	default:
		return request(ctx, c, limit, func(ctx context.Context) (driver.Grant, error) { return c.engine.Take(ctx, r) }, h.sends().late)
	}
	h.mu.Lock()
	h.requests++
	h.mu.Unlock()
	inner, end := c.within(ctx, limit)
	defer end()
	g, err := c.engine.Take(inner, r)
	return g, why(ctx, err)
}

// wait waits on the engine for the grant.
func (h *hold) wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := h.lock.client
	ctx, end := c.alive(ctx)
	defer end()
	var g driver.Grant
	var err error
	if c.abilities.Local {
		g, err = c.engine.Wait(ctx, r)
	} else {
		g, err = request(ctx, c, 0, func(ctx context.Context) (driver.Grant, error) { return c.engine.Wait(ctx, r) }, h.sends().late)
		h.note(err, r.TTL)
	}
	if err == nil && g.Start.IsZero() {
		err = errNoStart
	}
	return g, err
}

// note keeps in mind that a request may take effect after its caller has gone.
func (h *hold) note(err error, ttl time.Duration) {
	if err == nil || driver.HadNoEffect(err) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uncertain = h.lock.client.renewer.now() + ttl
}

var (
	errTooLate = errors.New("the grant came when the lease was already over: the engine answers too slowly for this ttl")
	errNoStart = driver.Permanent(errors.New("the engine granted a waiter without saying since when"))
)

// checkTokens refuses a grant with tokens that there are not: somebody else has written into what the engine keeps, or answers in its place.
func checkTokens(g driver.Grant) error {
	if g.Token >= 1 && g.Token <= driver.MaxToken && g.Tokens >= 0 && uint64(max(g.Tokens, 1)-1) <= driver.MaxToken-g.Token {
		return nil
	}
	return fmt.Errorf("the engine granted %d tokens from %d on, and tokens are between 1 and %d: look who else writes where it keeps its locks", max(g.Tokens, 1), g.Token, uint64(driver.MaxToken))
}

// admit makes a grant of the engine a lease, or gives it back if it came too late, or is none.
func (h *hold) admit(g driver.Grant, start driver.Instant) error {
	l := h.lock
	ttl := l.ttl
	if g.TTL > 0 {
		ttl = min(ttl, g.TTL)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := driver.Now()
	h.start, h.valid, h.origin, h.since = start, validity(ttl), now, now
	h.first = g.Token
	if g.Owner != "" {
		h.owner = g.Owner
	}
	if err := checkTokens(g); err != nil {
		return err
	}
	if h.left(now) < agenda.Tick {
		return errTooLate
	}
	h.token, h.spare = g.Token, max(g.Tokens-1, 0)
	h.become(held)
	h.count, h.failures = 1, 0
	h.handles.Store(1)
	h.next = h.renewAfter(start)
	if h.short = ttl < l.ttl; h.short {
		h.next = 0 // renew at once
	}
	if !h.schedule(now) {
		h.become(asking)
		return ErrClosed
	}
	if h.turn && (h.mode == driver.Shared || l.key.Kind != driver.Lock) {
		h.turn = false // others of this process may succeed too
		l.client.queue.Done(l.key)
	}
	if h.turn {
		l.client.queue.SetHeld(l.key, true)
	}
	return nil
}

// left returns how much is left of the lease. mu is held.
func (h *hold) left(now driver.Instant) time.Duration {
	left := h.valid - now.Since(h.start)
	if most := h.lock.maxHold; most > 0 {
		left = min(left, most-now.Since(h.since))
	}
	return left
}

// check ends the hold if its deadline has passed, and reports whether it is held.
func (h *hold) check() bool {
	h.mu.Lock()
	if h.phase != held {
		h.mu.Unlock()
		return false
	}
	if now := driver.Now(); h.left(now) <= 0 {
		h.expire(now)
		return false
	}
	h.mu.Unlock()
	return true
}

// expire ends a hold whose time is up. mu is held, and released.
func (h *hold) expire(now driver.Instant) {
	l := h.lock
	how := LossDeadline
	switch {
	case l.maxHold > 0 && now.Since(h.since) >= l.maxHold-agenda.Tick:
		how = LossMaxHold
	case h.dropped:
		how = LossDropped
	case l.noRenew:
		how = LossNotRenewed
	}
	h.finish(how, true)
}

// finish ends a hold that was not released. With clean, the engine may still have it, and is told. mu
// is held, and released.
func (h *hold) finish(how Loss, clean bool) {
	l := h.lock
	c := l.client
	now := driver.Now()
	event := Lost{About: l.about(h.mode), Token: h.token, Cause: how.cause(), How: how, Reason: how.reason(), Held: now.Since(h.since)}
	end := h.end(event.Cause)
	if clean {
		h.clean(now)
	}
	h.mu.Unlock()
	end()
	c.log.write(slog.LevelWarn, "lease lost", "kind", event.Kind.String(), "name", event.Name, "token", event.Token, "cause", event.Cause.Error(), "reason", event.Reason, "held", event.Held)
	for _, o := range c.observers.lost {
		o.ObserveLost(event)
	}
}

func nothing() {}

// end makes the hold over, for whatever cause. mu is held; the caller unlocks it and then
// calls what end returns.
func (h *hold) end(cause error) (after func()) {
	endings, turn := h.endings, h.turn
	h.become(over)
	h.cause, h.endings, h.turn = cause, nil, false
	h.lock.client.renewer.remove(h)
	if len(endings) == 0 && !turn {
		return nothing
	}
	return func() {
		for _, e := range endings {
			e.cancel(cause)
		}
		if turn {
			h.lock.client.queue.Done(h.lock.key)
		}
	}
}
