package leasehold

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/schedule"
	"github.com/leasehold-go/leasehold/internal/timelimit"
)

// hold is what one owner has on the engine, from its first request to its last. While it is held it may be handed over
// inside the process, from one caller to the next. Each caller's part of it is a tenure.
//
// Mutexes are locked in the order hold.mu, and then that of the local queue, the schedule or the clean-ups. None is
// held during a request to the engine or a call of an observer.
type hold struct {
	lock          *lock
	place         string // place in the engine's queue: the first owner of the call
	weight        int
	requestedMode driver.Mode // mode of the call; mode may become shared later

	// handles counts the leases of the current tenure that are neither released nor dropped. The garbage collector
	// counts down too, so handles is not guarded by mu.
	handles atomic.Int32

	mu          sync.Mutex
	owner       string
	phase       phase
	mode        driver.Mode
	hasTurn     bool           // the hold has the turn of the local queue
	tenure      uint32         // number of the current tenure; here it needs no memory of its own
	start       driver.Instant // start of the lease
	validity    time.Duration  // how long the lease lasts from start
	grantedAt   driver.Instant // when the engine granted the hold
	firstToken  uint64         // first token of the grant
	spareTokens int            // reserved tokens after the current one

	token        uint64
	openLeases   int // leases of the tenure that are not released
	tenureStart  driver.Instant
	unwatchedBuf [1]*Lease     // memory for the first of unwatched
	unwatched    []*Lease      // leases of the tenure that the garbage collector does not watch yet
	contextEnds  []*contextEnd // for leases of the tenure whose Context was called
	cause        error         // why the hold ended

	// State of the renewer and the clean-up. Times are on the clock of the schedule.
	entry       schedule.Entry[*hold]
	nextRequest time.Duration // when the next request is due
	failures    int           // renewals in a row without an answer, or still without one
	// A take of unknown outcome may have effect until then: the lease that it got by now has expired.
	uncertainUntil time.Duration
	cleanUpUntil   time.Duration // the clean-up gives up then, whatever the engine has answered
	firstLease     time.Duration // the short lease of a hand-over, until it is renewed to the whole ttl; then 0
	inDanger       bool          // the InDanger event was observed
	dropped        bool          // all leases were garbage collected without a release
}

// phase is a stage in the life of a hold.
type phase uint8

const (
	phaseTaking   phase = iota // not granted yet
	phaseHeld                  // granted and valid
	phaseCleaning              // ended here, but the engine may still have it: the clean-up repeats the release
	phaseEnded                 // ended here; phaseCleaning follows if it turns out that the engine may still have it
)

// newOwner returns 160 random bits as text. An owner is enough to release what it holds, so it is sent to the
// engine and nowhere else.
func newOwner() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func newHold(l *lock, a *acquisition) *hold {
	h := &hold{lock: l, owner: newOwner(), mode: a.mode, requestedMode: a.mode, weight: max(a.weight, 1)}
	h.place, h.hasTurn = h.owner, a.hasTurn
	h.entry.Value, h.unwatched = h, h.unwatchedBuf[:0]
	return h
}

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

// withFreshOwner returns the hold with which a call goes on when the owner of h must not be used in a take again. The
// new hold has the place and the turn of h.
func (h *hold) withFreshOwner(a *acquisition) *hold {
	next := newHold(h.lock, a)
	next.place = h.place
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hasTurn = false
	return next
}

func (h *hold) refLocked() driver.Hold {
	return driver.Hold{Key: h.lock.key, Owner: h.owner, Token: h.firstToken, Mode: h.requestedMode}
}

// releaseRequestLocked returns the request that releases the hold, but keeps the lock taken for a while.
func (h *hold) releaseRequestLocked(keep time.Duration) driver.Release {
	return driver.Release{Hold: h.refLocked(), Place: h.place, Keep: keep}
}

// take asks the engine once. A grant says when its lease starts.
func (h *hold) take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := h.lock.client
	if c.abilities.Local {
		start := driver.Now()
		g, err := c.engine.Take(ctx, r)
		if g.Start.IsZero() {
			g.Start = start
		}
		return g, err
	}
	limiter := c.takeLimits.For(r.Key)
	limit, err := limiter.Admit(ctx, c.lifetime, c.requests.Limit(validity(r.TTL)))
	if err != nil {
		return driver.Grant{}, err
	}
	start := driver.Now()
	inner, end := c.requests.Context(ctx, limit)
	defer end()
	g, err := c.engine.Take(inner, r)
	err = timelimit.CauseOf(ctx, err)
	limiter.Done(err == nil || driver.IsNo(err))
	h.noteUncertain(err, r.TTL)
	if g.Start.IsZero() {
		g.Start = start
	}
	return g, err
}

// wait waits on the engine until the name is granted.
func (h *hold) wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := h.lock.client
	ctx, end := c.cancelOnClose(ctx)
	defer end()
	g, err := c.engine.Wait(ctx, r)
	if !c.abilities.Local {
		err = timelimit.CauseOf(ctx, err)
		h.noteUncertain(err, r.TTL)
	}
	if err == nil && g.Start.IsZero() {
		err = errGrantWithoutStart
	}
	return g, err
}

// noteUncertain notes that a request may take effect after its caller has given up.
func (h *hold) noteUncertain(err error, ttl time.Duration) {
	if err == nil || driver.HadNoEffect(err) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uncertainUntil = h.lock.client.schedule.Now() + ttl
}

var (
	errGrantTooLate = errors.New("the grant came when the lease was already over: " +
		"the engine answers too slowly for this ttl")
	errGrantWithoutStart = driver.Permanent(errors.New("the engine granted a waiter a lease without its start"))
)

// checkTokens refuses a grant with impossible tokens: somebody else has written into the engine's data, or answers in
// its place.
func checkTokens(g driver.Grant) error {
	first, n := g.Token, max(g.Tokens, 1)
	if first >= 1 && first <= driver.MaxToken && g.Tokens >= 0 && uint64(n-1) <= driver.MaxToken-first {
		return nil
	}
	return fmt.Errorf("the engine granted %d tokens from %d on, and tokens are between 1 and %d: "+
		"check who else writes where it keeps its locks", n, first, uint64(driver.MaxToken))
}

// accept makes a lease of a grant. It returns an error if the grant came too late or is not valid; the caller then
// releases what was granted.
func (h *hold) accept(g driver.Grant, start driver.Instant) error {
	l := h.lock
	ttl := l.ttl
	if g.TTL > 0 {
		ttl = min(ttl, g.TTL)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := driver.Now()
	h.start, h.validity, h.grantedAt, h.tenureStart = start, validity(ttl), now, now
	h.firstToken = g.Token
	if g.Owner != "" {
		h.owner = g.Owner
	}
	if err := checkTokens(g); err != nil {
		return err
	}
	if h.remainingLocked(now) < schedule.Tick {
		return errGrantTooLate
	}
	h.token, h.spareTokens = g.Token, max(g.Tokens-1, 0)
	h.setPhaseLocked(phaseHeld)
	h.openLeases, h.failures = 1, 0
	h.handles.Store(1)
	if h.firstLease = 0; ttl < l.ttl {
		h.firstLease = ttl
	}
	if h.nextRequest = h.renewAfterLocked(start); l.noRenew {
		h.nextRequest = 0 // a first lease is then extended once, at once: the lease lasts for one ttl from the grant
	}
	if !h.scheduleLocked(now) {
		h.setPhaseLocked(phaseTaking)
		return ErrClosed
	}
	if h.hasTurn && (h.mode == driver.Shared || l.key.Kind != driver.Lock) {
		h.hasTurn = false // others of this process may succeed as well
		l.client.queue.EndTurn(l.key)
	}
	if h.hasTurn {
		l.client.queue.SetHeld(l.key, true)
	}
	return nil
}

func (h *hold) remainingLocked(now driver.Instant) time.Duration {
	left := h.validity - now.Since(h.start)
	if limit := h.lock.maxHold; limit > 0 {
		left = min(left, limit-now.Since(h.tenureStart))
	}
	return left
}

// checkHeld ends the hold if its deadline has passed, and reports whether it is held.
func (h *hold) checkHeld() (isHeld bool) {
	h.mu.Lock()
	after := doNothing
	if isHeld = h.phase == phaseHeld; isHeld {
		if now := driver.Now(); h.remainingLocked(now) <= 0 {
			isHeld, after = false, h.expireLocked(now)
		}
	}
	h.mu.Unlock()
	after()
	return isHeld
}

// expireLocked ends a hold whose deadline has passed. The caller unlocks mu and then calls after.
func (h *hold) expireLocked(now driver.Instant) (after func()) {
	l := h.lock
	how := LossDeadline
	switch {
	case l.maxHold > 0 && now.Since(h.tenureStart) >= l.maxHold-schedule.Tick:
		how = LossMaxHold
	case h.dropped:
		how = LossDropped
	case l.noRenew:
		how = LossNotRenewed
	}
	return h.loseLocked(how, true)
}

// loseLocked ends a hold that was not released. If cleanUp is set, the engine may still have it, and is asked to
// release it. The caller unlocks mu and then calls after.
func (h *hold) loseLocked(how Loss, cleanUp bool) (after func()) {
	l := h.lock
	c := l.client
	now := driver.Now()
	event := Lost{
		About: l.about(h.mode), Token: h.token, Cause: how.cause(), How: how, Reason: losses[how].reason,
		Held: now.Since(h.tenureStart),
	}
	afterEnd := h.endLocked(event.Cause)
	if cleanUp {
		h.scheduleCleanupLocked(now)
	}
	return func() {
		afterEnd()
		c.log.Write(slog.LevelWarn, "lease lost", "kind", event.Kind.String(), "name", event.Name, "token", event.Token,
			"cause", event.Cause.Error(), "reason", event.Reason, "held", event.Held)
		for _, o := range c.observers.lost {
			o.ObserveLost(event)
		}
	}
}

func doNothing() {}

// endLocked ends the hold here, for whatever cause. What the engine may still have is the matter of the caller, which
// also unlocks mu and then calls after.
func (h *hold) endLocked(cause error) (after func()) {
	ends, hadTurn := h.contextEnds, h.hasTurn
	h.setPhaseLocked(phaseEnded)
	h.cause, h.contextEnds, h.hasTurn = cause, nil, false
	h.lock.client.schedule.Remove(&h.entry)
	if len(ends) == 0 && !hadTurn {
		return doNothing
	}
	return func() {
		for _, e := range ends {
			e.cancel(cause)
		}
		if hadTurn {
			h.lock.client.queue.EndTurn(h.lock.key)
		}
	}
}
