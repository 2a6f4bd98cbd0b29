package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
	"github.com/leasehold-go/leasehold/redis/internal/luascript"
)

// errNoAnswer ends a request that the server leaves unanswered.
var errNoAnswer = errors.New("redis: no answer in time")

// errReleased ends a wait whose owner was released meanwhile.
var errReleased = errors.New("redis: released while it waited")

// answerTimeout is how long a poll, or one step of reading, may take.
const answerTimeout = 5 * time.Second

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return e.WaitFrom(ctx, quorumnode.Request{Request: r})
}

// WaitFrom implements [quorumnode.Node]. It is Wait, with a floor for the token that only redlock sets.
func (e *Engine) WaitFrom(ctx context.Context, r quorumnode.Request) (driver.Grant, error) {
	granted, err := e.waitForGrant(ctx, r)
	return granted.Grant, err
}

// waitForGrant is WaitFrom. It also returns what only redlock needs of a grant.
func (e *Engine) waitForGrant(ctx context.Context, r quorumnode.Request) (granted quorumnode.Grant, _ error) {
	r.Join, r.MaxWaiters = true, 0
	if err := e.unsent.NoteSent(r.Owner); err != nil {
		return granted, err
	}
	n := e.names(r.Key)
	timer := time.NewTimer(0)
	defer timer.Stop()
	w := e.waiters.add(r.Owner, r.Key)
	toldClosed := w.isRefusedAsClosed()
	for {
		timer.Reset(w.pollPause())
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			return granted, driver.NoEffect(ctx.Err())
		}
		if r.Probe && w.isInUse() {
			return granted, driver.ErrHeld
		}
		received, rescheduled := w.whyWoken()
		if received != nil && e.replicas == 0 {
			if received.wantedByOthers {
				e.wantedByOthers.Add(r.Key)
			}
			if owner := received.grant.Owner; w.takeLeft() != owner {
				return granted, errReleased // and what was passed is released, too
			}
			e.waiters.remove(r.Owner)
			granted.Grant, granted.Agreed, granted.Next = received.grant, received.agreed, received.next
			return granted, nil
		}
		if rescheduled {
			continue
		}
		// A request that was left may have dropped the waiter. Add it here and not in a poll, which may go on after
		// this has returned.
		w = e.waiters.add(r.Owner, r.Key)
		granted.Polled = true
		g, err := e.pollOnce(ctx, r, n, w)
		if !errors.Is(err, driver.ErrHeld) || w.isRefusedAsClosed() != toldClosed {
			granted.Grant = g
			return granted, err // perhaps a new reason
		}
	}
}

// pollOnce asks once whether the owner is granted the name now. It joins again: the owner keeps its place, if
// it still has one.
func (e *Engine) pollOnce(ctx context.Context, r quorumnode.Request, n redisKeys, w *waiter) (driver.Grant, error) {
	limit := min(answerTimeout, max(r.TTL/2, 100*time.Millisecond))
	g, err := within(ctx, e, limit, func(ctx context.Context) (driver.Grant, error) {
		return e.join(ctx, r, n, w)
	})
	if e.mayStillUndo(err) {
		if ctx.Err() == nil { // otherwise no other owner comes after it
			e.spentAtHead.Add(r.Owner)
		}
		err = driver.Spent(err)
	}
	return g, err
}

// onMessage handles a message to this process.
func (e *Engine) onMessage(text string) {
	if strings.HasPrefix(text, "r ") {
		e.onRecall(text)
		return
	}
	if number, ok := strings.CutPrefix(text, "u "); ok {
		if w := e.waiters.findTicket(number, false); w != nil {
			w.noteInUse()
		}
		return
	}
	m, ok := parseMessage(text)
	if !ok {
		return
	}
	w := e.waiters.findTicket(m.ticket, m.isGrant)
	switch {
	case w == nil && m.isGrant && e.releaseLeft != nil:
		// The first message shows the ticket to all who listen, so no other one may name an owner.
		if k, left := e.waiters.takeLeft(m.ticket); left && m.grant.Owner != "" {
			e.releaseLeft(k, m.grant.Owner)
		}
	case w == nil: // it has given up; the core releases
	case !m.isGrant:
		w.notePollIn(m.pollIn)
	case m.grant.Tokens == 0:
		w.wakeUp() // no script sends that: poll to find out
	default:
		w.noteGranted(messageGrant{grant: m.grant, wantedByOthers: m.wantedByOthers, next: m.next}, m.grantedAt, m.age)
	}
}

// message is what another's release tells a waiter: that it is granted the name, or when to poll. The table of messages
// is in lock.lua.
type message struct {
	isGrant bool
	ticket  string // of a grant; otherwise only its number

	grant          driver.Grant // its Tokens are 0 if it is not valid
	grantedAt      int64        // ms, on the server's clock
	wantedByOthers bool         // others wait behind the waiter
	next           *quorumnode.Next
	age            time.Duration // if the name was passed: how long before grantedAt the lease began

	pollIn time.Duration // negative is as late as it may be
}

// parseMessage reads a message, and reports whether it is one to a waiter.
func parseMessage(text string) (m message, ok bool) {
	text, rest, _ := strings.Cut(text, "\x00")
	words := strings.Fields(text)
	passed := len(words) == 9 && words[0] == "p"
	if passed {
		m.grant.Owner, words = words[8], words[:8]
	}
	if len(words) < 3 {
		return m, false
	}
	numbers := make([]int64, len(words)-2)
	for i, word := range words[2:] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return m, false
		}
		numbers[i] = n
	}
	m.isGrant, m.ticket = passed || words[0] == "g", words[1]
	if !m.isGrant {
		m.pollIn = luascript.Duration(numbers[0])
		return m, words[0] == "h"
	}
	if passed && len(numbers) == 6 {
		m.age, numbers = luascript.Duration(max(numbers[5], 0)), numbers[:5]
	}
	if len(numbers) != 5 || passed && checkOwner(m.grant.Owner) != nil {
		return m, false
	}
	ttl := luascript.Duration(numbers[2])
	g, err := newGrant(numbers[0], numbers[1], driver.Request{Tokens: int(min(numbers[1], maxTokensPerGrant))})
	if err == nil && ttl > 0 {
		g.Owner, g.TTL = m.grant.Owner, ttl
		m.grant = g
	}
	m.grantedAt, m.wantedByOthers = numbers[3], numbers[4] > 0
	if behind := strings.SplitN(rest, "\x00", 3); len(behind) == 3 {
		if ttl, err := strconv.ParseInt(behind[1], 10, 64); err == nil && ttl > 0 {
			m.next = &quorumnode.Next{Waiter: behind[0], TTL: luascript.Duration(ttl), Holder: behind[2],
				ServerMillis: m.grantedAt, Received: driver.Now()}
		}
	}
	return m, true
}
