package leasehold

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
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
// held during a request to the engine or a call of an observer: see afterUnlock.
type hold struct {
	lock          *lock
	place         string // place in the engine's queue: the first owner of the call
	weight        int
	requestedMode driver.Mode // mode of the call; mode may become shared later
	mayHold       bool        // the engine may have something to clean up if the call fails; used by the call alone

	droppedLeases atomic.Int32 // open leases that were garbage collected; not guarded by mu, as the collector counts

	mu          sync.Mutex
	phase       phase
	tenure      uint32 // number of the current tenure
	owner       string
	mode        driver.Mode
	hasTurn     bool           // a granted hold has the turn of the local queue; before, the call has it
	parked      bool           // the hold was left in the local queue, for who asks next; perhaps it was taken since
	grantedAt   driver.Instant // when the engine granted the hold
	firstToken  uint64         // first token of the grant
	spareTokens int            // reserved tokens after the current one
	tokenRange  int            // tokens of the grant
	recallable  bool           // the engine calls recall when somebody else asks for the name
	recalled    bool           // it has

	// What was stored with SetData; see data.go.
	dataSent      uint64 // how often it was sent
	dataConfirmed uint64 // the highest of these numbers that the engine has confirmed

	// The current tenure.
	validity     validity
	token        uint64
	openLeases   int           // leases that are not released; 0 once the renewer has seen that all were dropped
	handOvers    int           // inside the process, since the grant
	unwatchedBuf [1]*Lease     // memory for the first of unwatched
	unwatched    []*Lease      // leases that the garbage collector does not watch yet
	contextEnds  []*contextEnd // for leases whose Context was called
	cause        error         // why the hold ended

	// The renewer. Times are those of the clock of the schedule (schedule.Now).
	entry       schedule.Entry[*hold]
	nextRenewal time.Duration // when the next renewal is due
	unsent      bool          // a renewal is due, but must wait until it may be sent; nextRenewal does not count
	unanswered  int           // renewals in a row without an answer, or still without one
	firstLease  time.Duration // the short lease of a hand-over, until it is renewed to the whole ttl; then 0
	inDanger    bool          // the InDanger event was observed
	entryAt     time.Duration // when entry was last due
	idleUntil   time.Duration // when an idle hold is released; it may be used again until then

	// The clean-up, and times of the same clock. See cleanup.go.
	unknownUntil time.Duration // until then a take of unknown outcome may have an effect; 0 if there was none
	cleanUps     int           // releases of the clean-up
	cleanUpUntil time.Duration // the clean-up gives up then, whatever the engine has answered

	leaving afterUnlock // in phaseLeaving: the release that is to be sent
	// isLeaving is whether the phase is phaseLeaving, for those who may not take mu.
	isLeaving atomic.Bool
}

// phase is a stage in the life of a hold.
type phase uint8

const (
	phaseTaking   phase = iota // not granted yet
	phaseHeld                  // granted and valid
	phaseIdle                  // the same, but nobody has a lease of it: it lingers (see idle.go)
	phaseLeaving               // ended here, and about to be released (see leaving.go)
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
	h.place, h.validity.maxHold = h.owner, l.maxHold
	h.entry.Value, h.unwatched = h, h.unwatchedBuf[:0]
	return h
}

// setPhaseLocked sets the phase of the hold, and counts the hold as a lease while the engine may have something of it.
// Until it is granted, the call counts instead.
func (h *hold) setPhaseLocked(p phase) {
	switch counted := h.phase != phaseTaking && h.phase != phaseEnded; {
	case !counted && p == phaseCleaning:
		h.lock.client.leaseCount.Add(1)
	case counted && p == phaseEnded:
		h.lock.client.leaseCount.Add(-1)
	}
	if isLeaving := p == phaseLeaving; isLeaving != (h.phase == phaseLeaving) {
		h.isLeaving.Store(isLeaving)
	}
	h.phase = p
}

// isLiveLocked reports whether the hold was granted and has not ended.
func (h *hold) isLiveLocked() bool { return h.phase == phaseHeld || h.phase == phaseIdle }

func (h *hold) refLocked() driver.Hold {
	return driver.Hold{Key: h.lock.key, Owner: h.owner, Token: h.firstToken, Mode: h.requestedMode}
}

// releaseRequestLocked returns the request that releases the hold, but keeps the lock taken for a while.
func (h *hold) releaseRequestLocked(keep time.Duration) driver.Release {
	return driver.Release{Hold: h.refLocked(), Place: h.place, Keep: keep}
}

// endTenureLocked ends the leases of the current tenure, if that was not done yet.
func (h *hold) endTenureLocked() {
	h.tenure++
	h.openLeases, h.contextEnds = 0, nil
}

// take asks the engine once. A grant says when its lease starts. before is the release of an earlier hold that is still
// to be sent, or empty.
func (h *hold) take(ctx context.Context, r driver.Request, before *afterUnlock) (g driver.Grant, err error) {
	c := h.lock.client
	var start driver.Instant
	if c.abilities.Local {
		_ = before.run()
		start = driver.Now()
		g, err = c.engine.Take(ctx, r)
	} else {
		limiter := c.takeLimits.For(r.Key)
		limit, refused := limiter.Admit(ctx, c.lifetime, c.requests.TimeFor(validFor(r.TTL)))
		if refused != nil {
			_ = before.runUntil(ctx)
			return driver.Grant{}, refused
		}
		start = driver.Now()
		inner, end := c.requests.Context(ctx, limit)
		defer end()
		g, err = c.sendTake(inner, r, before)
		err = timelimit.CauseOf(ctx, err)
		limiter.Done(err == nil || driver.IsNo(err))
	}
	h.noteOutcome(err)
	if g.Start.IsZero() {
		g.Start = start
	}
	return g, err
}

// sendTake sends a take, and the release that comes before it.
func (c *Client) sendTake(ctx context.Context, r driver.Request, before *afterUnlock) (g driver.Grant, err error) {
	if before.op == "" {
		return c.engine.Take(ctx, r)
	}
	engine, ok := c.engine.(driver.Exchanger)
	if !ok {
		_ = before.runUntil(ctx) // observers are told of an error
		return c.engine.Take(ctx, r)
	}
	before.answered = true
	g, before.outcome, err = engine.Exchange(ctx, before.request, r)
	_ = before.run()
	return g, err
}

// wait waits on the engine until the name is granted.
func (h *hold) wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c := h.lock.client
	ctx, end := c.cancelOnClose(ctx)
	defer end()
	h.mayHold = true // the owner has joined the queue
	g, err := c.engine.Wait(ctx, r)
	if !c.abilities.Local {
		err = timelimit.CauseOf(ctx, err)
	}
	h.noteOutcome(err)
	if err == nil && g.Start.IsZero() {
		err = errGrantWithoutStart
	}
	return g, err
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
// releases what was granted. Otherwise the hold takes over the turn of the call, if that has it.
func (h *hold) accept(g driver.Grant, start driver.Instant, hasTurn bool) error {
	l := h.lock
	ttl := l.ttl
	if g.TTL > 0 {
		ttl = min(ttl, g.TTL)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := driver.Now()
	h.validity.start, h.validity.length = start, validFor(ttl)
	h.validity.tenureStart, h.grantedAt = now, now
	h.firstToken = g.Token
	if g.Owner != "" {
		h.owner = g.Owner
	}
	if err := checkTokens(g); err != nil {
		return err
	}
	if h.validity.remaining(now) < schedule.Tick {
		return errGrantTooLate
	}
	h.token, h.tokenRange, h.recallable = g.Token, max(g.Tokens, 1), g.Recallable
	h.spareTokens = h.tokenRange - 1
	h.setPhaseLocked(phaseHeld)
	h.openLeases = 1
	if ttl < l.ttl {
		h.firstLease = ttl
	}
	h.nextRenewal = h.renewAtLocked(start)
	if l.noRenew {
		h.nextRenewal = 0 // only a first lease is renewed then, once and at once (isRenewedLocked)
	}
	if !h.scheduleLocked(now) {
		h.setPhaseLocked(phaseTaking)
		return ErrClosed
	}
	switch {
	case !hasTurn:
	case h.mode == driver.Shared || l.key.Kind != driver.Lock:
		l.client.queue.EndTurn(l.key) // others of this process may succeed as well
	default:
		h.hasTurn = true
		l.client.queue.SetHeld(l.key, true)
	}
	return nil
}

// scheduleLocked schedules a live hold for when it is due next, and reports false if the client is closed.
func (h *hold) scheduleLocked(now driver.Instant) bool {
	s := &h.lock.client.schedule
	deadline := s.At(now) + h.validity.remaining(now)
	at := deadline
	if h.isRenewedLocked() && !h.unsent {
		at = min(at, h.nextRenewal)
	}
	if h.unanswered > 0 && !h.inDanger {
		at = min(at, deadline-h.dangerTimeLocked())
	}
	if h.phase == phaseIdle {
		at = min(at, max(h.idleUntil, s.At(now)+schedule.Tick))
	}
	h.entryAt = at
	return s.Set(&h.entry, at)
}

// renewAtLocked returns when to renew a lease that began at start. It rounds, so that renewals that are due at about
// the same time go together.
func (h *hold) renewAtLocked(start driver.Instant) time.Duration {
	ttl := h.currentTTLLocked()
	at := h.lock.client.schedule.At(start) + ttl/3
	return at - at%max(ttl/64, schedule.Tick)
}

// currentTTLLocked returns how long the current lease lasts in whole.
func (h *hold) currentTTLLocked() time.Duration { return cmp.Or(h.firstLease, h.lock.ttl) }

func (h *hold) isRenewedLocked() bool {
	return (!h.lock.noRenew || h.firstLease > 0) && h.openLeases > 0 || h.phase == phaseIdle
}

// dangerTimeLocked returns how much of a lease is left when it is in danger.
func (h *hold) dangerTimeLocked() time.Duration { return h.currentTTLLocked() / 3 }
