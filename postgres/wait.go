package postgres

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// pollTimeout is how long one poll of a waiter, or of a latch, may take.
const pollTimeout = 5 * time.Second

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.MaxWaiters = true, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	toldClosed := e.isRefusedAsClosed(r.Owner)
	for {
		if w := e.waiters.findOwner(r.Owner); w != nil {
			if g, err := e.awaitWake(ctx, r, w, timer); g.Token != 0 || err != nil {
				return g, err
			}
		}
		g, err := e.pollOnce(ctx, r)
		if !errors.Is(err, driver.ErrHeld) || e.isRefusedAsClosed(r.Owner) != toldClosed {
			return g, err // perhaps a new reason
		}
	}
}

// isRefusedAsClosed reports whether a waiter's latest answer was that nothing is granted after a crash.
func (e *Engine) isRefusedAsClosed(owner string) bool {
	w := e.waiters.findOwner(owner)
	return w != nil && w.isRefusedAsClosed()
}

// awaitWake returns when there is a grant, or without one when it is time to poll.
func (e *Engine) awaitWake(
	ctx context.Context, r driver.Request, w *waiter, timer *time.Timer,
) (none driver.Grant, err error) {
	for {
		timer.Reset(w.pollPause())
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			return none, driver.NoEffect(ctx.Err()) // no request is in flight
		case <-e.ctx.Done():
			return none, errClosed
		}
		g, putOff := w.takeGrant()
		if g == nil && putOff {
			continue
		}
		if g == nil {
			return none, nil
		}
		e.waiters.remove(r.Owner)
		if g.hasWaiters {
			e.wanted.Add(r.Key)
		}
		return g.grant, nil
	}
}

// pollOnce asks once whether it is the owner's turn. It sends a join, so the owner keeps its place.
func (e *Engine) pollOnce(ctx context.Context, r driver.Request) (driver.Grant, error) {
	inner, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	g, err := e.Take(inner, r)
	if err != nil && ctx.Err() != nil {
		return driver.Grant{}, ctx.Err() // not marked: the request may have had an effect
	}
	return g, err
}

// onMessage handles a notification that was sent to this process.
func (e *Engine) onMessage(message string) {
	word, rest, _ := strings.Cut(message, " ")
	if word == "l" {
		e.subscription.wakeLatch(rest)
		return
	}
	if word == "h" {
		e.onHintMessage(rest)
		return
	}
	var numbers []int64
	for text := range strings.FieldsSeq(rest) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return // anybody may send messages
		}
		numbers = append(numbers, n)
	}
	if word != "g" || len(numbers) != 6 {
		return
	}
	w := e.waiters.findTicket(numbers[0])
	if w == nil { // the waiter has given up; the core releases the grant
		return
	}
	g, err := grantOf(numbers[1], numbers[2], tokensPerGrant)
	if g.TTL = microsToDuration(numbers[3]); err != nil || g.TTL <= 0 {
		w.wakeUp() // none of the SQL functions sends that: poll to find out
		return
	}
	w.noteGranted(messageGrant{grant: g, serverTime: time.UnixMicro(numbers[4]), hasWaiters: numbers[5] > 0})
}

// onHintMessage notes that a waiter has become the head of the queue, and when the lease in its way ends.
func (e *Engine) onHintMessage(message string) {
	hint, ends, _ := strings.Cut(message, " ")
	h, err := strconv.ParseUint(hint, 16, 64)
	if err != nil {
		return
	}
	n, err := strconv.ParseInt(ends, 10, 64)
	if w := e.waiters.findHint(h); w != nil && err == nil {
		w.noteHead(microsToDuration(n))
	}
}

// microsToDuration converts microseconds to a duration. It returns the longest possible one for larger numbers.
func microsToDuration(n int64) time.Duration {
	const limit = math.MaxInt64 / 2 / int64(time.Microsecond) // leaves room for additions
	return time.Duration(max(min(n, limit), -limit)) * time.Microsecond
}
