package redis

import (
	"context"
	"strconv"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// Only redlock uses what is in this file: it passes a name from its holder to the first waiter.

// nodeProcess begins the process of an engine whose waiters understand what hand_over.lua tells them.
const nodeProcess = "~"

// OnLeftGrant implements [quorumnode.Passer].
func (e *Engine) OnLeftGrant(release func(k driver.Key, owner string)) {
	if e.replicas == 0 { // otherwise a message is not enough
		e.releaseLeft, e.process = release, nodeProcess+e.process
	}
}

// canPass reports whether this engine can pass a name on in one step.
func (e *Engine) canPass(p quorumnode.Pass) bool {
	return e.router.isSingle() && e.replicas == 0 && p.Hold.Kind == driver.Lock && p.To.Tokens <= 1 &&
		checkOwner(p.Hold.Owner) == nil && checkOwner(p.To.Owner) == nil
}

// StartPass implements [quorumnode.Passer].
func (e *Engine) StartPass(ctx context.Context, p quorumnode.Pass, done func(passed bool, err error)) {
	if !e.canPass(p) {
		done(false, nil)
		return
	}
	t := &uncontendedRequest{holder: p.Hold.Owner}
	if _, err := t.setTake(p.To, e.names(p.Hold.Key), ""); err != nil {
		done(false, nil) // there are no more tokens
		return
	}
	t.kind = passRequest
	t.deadline, _ = ctx.Deadline()
	t.onAnswer = func(answer any, err error) {
		switch {
		case err == nil && answer == int64(2):
			done(true, driver.ErrNotHeld)
		case err == nil && answer == int64(3):
			done(false, driver.ErrHeld)
		default:
			done(err == nil && answer == int64(1), err)
		}
	}
	e.batcher.Add(t)
}

// StartHandOver implements [quorumnode.Passer].
func (e *Engine) StartHandOver(ctx context.Context, h quorumnode.HandOver, done func(passed bool, err error)) {
	if !e.canPass(h.Pass) {
		done(false, nil)
		return
	}
	n := e.names(h.Hold.Key)
	e.forgetOwner(n, driver.Release{Hold: h.Hold})
	// The clock of the server when the first node was asked, or an earlier one: at least so much has passed there.
	sinceTold := h.Began.Since(h.Next.Received)
	began := h.Next.ServerMillis + (sinceTold - driver.Drift(sinceTold)).Milliseconds() - 1
	go func() {
		// If the clock of the server was set back meanwhile, began is too late. The clock of this process mostly shows
		// that.
		age := driver.Now().Since(h.Began)
		least := max((age - driver.Drift(age)).Milliseconds(), 0)
		answer, err := beforeDeadline(ctx, func(ctx context.Context) (any, error) {
			return e.run(ctx, scriptHandOver, n, h.Hold.Owner, placeArg(h.Place, h.Hold.Owner),
				strconv.FormatUint(h.To.Floor, 10), h.To.Owner, luascript.Millis(h.To.TTL),
				h.Next.Waiter, began, least)
		})
		done(err == nil && answer == int64(1), err)
	}()
}

// WaitForGrant implements [quorumnode.Passer].
func (e *Engine) WaitForGrant(ctx context.Context, r quorumnode.Request) (quorumnode.Grant, error) {
	return e.waitForGrant(ctx, r)
}

// isGranted reports whether the waiter has received a grant.
func (w *waiter) isGranted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.granted != nil
}

// takeLeft returns the owner as which a waiter was passed the name, if nobody has been told of it.
func (w *waiter) takeLeft() (owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.granted != nil {
		owner, w.granted.grant.Owner = w.granted.grant.Owner, ""
	}
	return owner
}

// forgetWaiter ends the notifications of a waiter that was removed. What it was passed is released, if nobody has been
// told of it; also if the message comes only later.
func (e *Engine) forgetWaiter(w *waiter) {
	e.unsubscribe(w)
	e.noteForgotten(w)
}

func (e *Engine) noteForgotten(w *waiter) {
	if e.releaseLeft == nil {
		return
	}
	if owner := w.takeLeft(); owner != "" {
		e.releaseLeft(w.key, owner)
	} else if !w.isGranted() {
		e.waiters.noteLeft(w)
	}
}

// maxLeft limits how many waiters are remembered that have given up. Of the others, what they are passed is free when
// its lease ends.
const maxLeft = 1024

// noteLeft remembers a waiter that has given up.
func (ws *waiters) noteLeft(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.left == nil || len(ws.left) >= maxLeft {
		ws.left = map[string]driver.Key{}
	}
	ws.left[w.ticket] = w.key
}

// takeLeft returns the name for which a waiter with this ticket has waited, and forgets it. Only who knows the ticket
// can name the owner to release.
func (ws *waiters) takeLeft(ticket string) (k driver.Key, left bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	k, left = ws.left[ticket]
	delete(ws.left, ticket)
	return k, left
}
