package redis

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// refusal is the server's answer to a take that it does not grant now.
type refusal struct {
	serverMillis int64 // the server's clock
	closed       bool  // refused only because grants are closed
	unfinished   bool  // others have to be served first; then a take that has not joined runs again
	pollHint
}

// pollHint is what is known of when a waiter may be granted the name, and so of when to poll.
type pollHint struct {
	endsIn   time.Duration // until the next lease ends; negative if it never does
	position int           // in the queue: 0 is the head, negative is not queued
	foreign  bool          // held by another kind of client, which does not notify of its release
}

// contendedFor is how long a name counts as contended after it was found held.
const contendedFor = 2 * time.Second

// takeOrJoin decides a take with take.lua, and joins the queue if the request asks for that and the name is refused. It
// returns when ctx ends: a caller of Take leaves its requests here, or in runUncontended.
func (e *Engine) takeOrJoin(
	ctx context.Context, r quorumnode.Request, n redisKeys, known takeState,
) (driver.Grant, error) {
	var wasRefused atomic.Bool // by an answer to this request
	g, err := inTime(ctx, e, func(ctx context.Context) (driver.Grant, error) {
		if known == undecided {
			g, _, err := e.takeFully(ctx, r, n, nil)
			if afterAnswer(r, err) == decided {
				return g, err
			}
		}
		if known != assumedHeld { // in that case, the answer to join is the first one
			wasRefused.Store(true)
			e.contended.Add(r.Key, contendedFor)
		}
		return e.join(ctx, r, n, e.waiters.add(r.Owner, r.Key))
	}, e.releaseLate(r.Request))
	if wasRefused.Load() && !driver.IsNo(err) {
		err = driver.KnownHeld(err)
	}
	return g, err
}

// join subscribes, and takes the name or joins its queue as w.
func (e *Engine) join(ctx context.Context, r quorumnode.Request, n redisKeys, w *waiter) (driver.Grant, error) {
	if err := e.subscribe(ctx, w, n); err != nil {
		e.dropWaiter(r.Owner, w) // it had no effect, so nobody will release it
		return driver.Grant{}, err
	}
	sent := driver.Now()
	w.noteRequest(sent)
	g, refused, err := e.takeFully(ctx, r, n, w)
	switch {
	case err == nil:
		e.dropWaiter(r.Owner, w)
		g.Start = sent
	case errors.Is(err, driver.ErrHeld):
		e.contended.Add(r.Key, contendedFor)
		w.noteRefused(sent, refused)
	case driver.HadNoEffect(err):
		e.dropWaiter(r.Owner, w)
	}
	return g, err
}

// dropWaiter forgets a waiter whose request is over. If its caller has left that request, a later Wait of the same
// owner may be waiting on it: that one polls at once, and is told what the owner has.
func (e *Engine) dropWaiter(owner string, w *waiter) {
	e.waiters.remove(owner)
	w.wakeUp()
}

// takeFully decides a take with take.lua. With w, the owner joins the queue as w. If the script has stopped before it
// was done, others do the rest: see finishHandOver. A waiter then polls, and a take that does not wait runs again.
func (e *Engine) takeFully(
	ctx context.Context, r quorumnode.Request, n redisKeys, w *waiter,
) (driver.Grant, refusal, error) {
	for {
		g, refused, err := e.takeFullyOnce(ctx, r, n, w)
		if refused.unfinished {
			e.finishHandOver(ctx, n)
		}
		if !refused.unfinished || err == nil || refused.position >= 0 {
			return g, refused, err
		}
		if ctx.Err() != nil {
			return g, refused, driver.NoEffect(ctx.Err())
		}
	}
}

// takeFullyOnce runs take.lua.
func (e *Engine) takeFullyOnce(
	ctx context.Context, r quorumnode.Request, n redisKeys, w *waiter,
) (driver.Grant, refusal, error) {
	mode, weight, size := "x", 1, 1
	switch {
	case r.Kind == driver.Semaphore:
		mode, weight, size = "s", r.Weight, r.Size
	case r.Mode == driver.Shared:
		mode, size = "s", 1<<31-1
	}
	notifyBy, ticket, process, waiters := "", "0", "", 0
	if w != nil {
		notifyBy, ticket, process, waiters = w.notifyMethod(), w.ticket, e.process, r.MaxWaiters
		if r.Probe {
			notifyBy = strings.ToLower(notifyBy)
		}
	}
	answer, srv, err := e.runScript(ctx, e.sendWithReplicas, scriptTake, n, newScriptCall(n.allKeys(),
		r.Owner, luascript.Millis(r.TTL), max(r.Tokens, 1), tokenFloor(r), luascript.WithoutNUL(r.Holder),
		mode, weight, size,
		notifyBy, ticket, process, placeArg(r.Place, r.Owner), waiters))
	unconfirmed := err
	if err != nil && !isShortfall(err) {
		return driver.Grant{}, refusal{}, err
	}
	g, waiting, refused, err := readTake(answer, r.Request)
	switch {
	case err == nil && unconfirmed != nil:
		return driver.Grant{}, refusal{}, e.undoTake(ctx, unconfirmed, hasWaited(r.Request, w), r.Request)
	case errors.Is(err, driver.ErrHeld):
		err = e.router.markerOf(n, srv).explainRefusal(&refused, w != nil, err)
	case err == nil && waiting:
		e.wantedByOthers.Add(r.Key)
	}
	return g, refused, err
}

// hasWaited reports whether a request comes from a caller that waits, as w or with an earlier, spent owner. Only for
// these does the core use another owner.
func hasWaited(r driver.Request, w *waiter) bool {
	return r.Place != "" && r.Place != r.Owner || w != nil && w.hasBeenRefused()
}

// Answers of take.lua.
const (
	notLookedUp    = -2 // it has not looked when the lease of the holder ends
	takeUnfinished = 3  // it has stopped before it was done: see unfinished in lock.lua
)

// readTake reads the answer of take.lua. Even if the take is granted, the refusal may be unfinished.
func readTake(answer any, r driver.Request) (g driver.Grant, waiting bool, refused refusal, err error) {
	if answer == any(int64(0)) {
		return g, false, refused, driver.ErrTooManyWaiters
	}
	list, err := replies.Integers(answer, 3)
	switch {
	case err != nil:
		return g, false, refused, err
	case list[0] != 0:
		g, err = newGrant(list[0], list[1], r)
		refused.unfinished = len(list) > 3 && list[3] == takeUnfinished
		return g, list[2] > 0, refused, err
	case len(list) < 5:
		return g, false, refused, errReply
	}
	refused = refusal{serverMillis: list[1], pollHint: pollHint{
		endsIn: luascript.Duration(list[2]), position: int(list[3]), foreign: list[4] == 1,
	}}
	if refused.unfinished = list[4] == takeUnfinished; refused.unfinished {
		refused.pollHint = pollHint{position: min(refused.position, 0)} // poll at once
	}
	if list[2] == notLookedUp {
		return g, false, refused, &driver.HeldError{}
	}
	return g, false, refused, &driver.HeldError{Left: refused.endsIn, Lingers: list[4] == 2}
}
