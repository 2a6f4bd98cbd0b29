package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// contendedFor is how long a name that was found held is not tried as a free one by callers that may wait.
const contendedFor = 2 * time.Second

// answer is what the SQL function take answers.
type answer struct {
	token      int64         // 0 if the request was refused
	tokens     int           // negative if the request was refused because the queue is full
	serverTime time.Time     // the server's clock
	closedFor  time.Duration // for how long the crash guard grants nothing; 0 if it is open
	// holderEndsIn is when the first lease in the way ends. If it is not positive, that lease has ended, but a
	// transaction keeps its row.
	holderEndsIn time.Duration
	isEndKnown   bool // holderEndsIn is set
	waitersAhead int  // in the queue
	hasWaiters   bool // others wait behind an owner that was granted
}

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if !r.Join {
		return e.take(ctx, r, nil, 0)
	}
	w, added := e.waiters.add(r.Owner, r.Key)
	g, err := e.join(ctx, r, w)
	if added && driver.HadNoEffect(err) && !errors.Is(err, driver.ErrHeld) {
		e.waiters.remove(r.Owner) // the request had no effect, so nobody will release it
	}
	return g, err
}

// join is Take for an owner that may wait.
func (e *Engine) join(ctx context.Context, r driver.Request, w *waiter) (driver.Grant, error) {
	listener := e.subscription.listenerNumber()
	if listener == 0 && !e.polling {
		// Usually the name is free, and no listening connection is needed.
		r.Join = false
		g, err := e.take(ctx, r, w, 0)
		if !errors.Is(err, driver.ErrHeld) {
			return g, err
		}
		r.Join = true
		if listener, err = e.subscription.subscribe(ctx); err != nil {
			return driver.Grant{}, driver.KnownHeld(err)
		}
		if g, err = e.take(ctx, r, w, listener); !driver.IsNo(err) {
			err = driver.KnownHeld(err)
		}
		return g, err
	}
	return e.take(ctx, r, w, listener)
}

// take sends one request. w is nil unless the owner may wait. listener is the number under which the owner is notified
// of a grant, or 0 if it is not notified.
func (e *Engine) take(ctx context.Context, r driver.Request, w *waiter, listener int64) (driver.Grant, error) {
	sent := driver.Now()
	if w != nil {
		w.noteRequest(sent)
	}
	a, err := e.sendTake(ctx, r, w, listener)
	if err != nil {
		return driver.Grant{}, err
	}
	if a.isQueueFull() {
		return driver.Grant{}, driver.ErrTooManyWaiters
	}
	if a.token == 0 {
		e.contended.Add(r.Key, contendedFor)
		if w != nil && r.Join {
			w.noteRefused(sent, a, listener == 0)
		}
		return driver.Grant{}, a.refusalError(w != nil)
	}
	if w != nil {
		e.waiters.remove(r.Owner)
	}
	if a.hasWaiters {
		e.wanted.Add(r.Key)
	}
	g, err := grantOf(a.token, int64(a.tokens), max(r.Tokens, 1))
	g.Start = sent
	return g, err
}

// grantOf makes a grant of the server's answer, or an error if the tokens are not possible.
func grantOf(token, tokens int64, asked int) (driver.Grant, error) {
	if token < 1 || token > driver.MaxToken || tokens < 1 || tokens > driver.MaxToken-token+1 {
		return driver.Grant{}, errTokens
	}
	return driver.Grant{Token: uint64(token), Tokens: int(min(tokens, int64(asked)))}, nil
}

// sendTake calls the SQL function take, and take_shut if take does not answer because the name may not be free.
func (e *Engine) sendTake(ctx context.Context, r driver.Request, w *waiter, listener int64) (a answer, err error) {
	var listenerArg *int64
	if listener != 0 {
		listenerArg = &listener
	}
	var ticket int64
	if w != nil {
		ticket = w.ticket
	}
	queued := e.isProbablyHeld(r)
	atOnce := takeAtOnce(r, w, listener, queued)
	queries := []string{e.statements.take, e.statements.takeShut}
	args := []any{
		int16(r.Kind), r.Name, r.Owner, int16(r.Mode), int32(r.Weight), int32(r.Size), roundUpMicros(r.TTL),
		int32(max(r.Tokens, 1)), r.Join, listenerArg, ticket, r.Holder, e.maxTTL, e.guard,
	}
	if r.Join && r.MaxWaiters > 0 {
		queries = []string{e.statements.takeAmong, e.statements.takeAmongShut}
		args = append(args, int32(min(r.MaxWaiters, math.MaxInt32)))
	}
	if queued {
		queries = queries[1:]
	}
	var reply []*int64
	for _, query := range queries {
		err = e.sendShort(ctx, atOnce, &reply, query, args...)
		if err != nil {
			return a, err
		}
		if atOnce.isDone() {
			return atOnce.answer(), nil
		}
		if reply != nil {
			break
		}
	}
	return readAnswer(reply), nil
}

// isProbablyHeld reports whether a caller that may wait had better join the queue than try the name as a free one.
func (e *Engine) isProbablyHeld(r driver.Request) bool { return r.Join && e.contended.Has(r.Key) }

// readAnswer reads the answer of the SQL function take. For a name that was simply free it has the tokens only.
func readAnswer(reply []*int64) (a answer) {
	number := func(i int) (n int64, ok bool) {
		if i >= len(reply) || reply[i] == nil {
			return 0, false
		}
		return *reply[i], true
	}
	tokens, _ := number(1)
	a.tokens = int(tokens)
	a.token, _ = number(0)
	at, _ := number(2)
	a.serverTime = time.UnixMicro(at)
	if opens, ok := number(3); ok {
		a.closedFor = max(microsToDuration(opens-at), time.Millisecond)
	}
	if ends, ok := number(4); ok {
		a.holderEndsIn, a.isEndKnown = microsToDuration(ends-at), true
	}
	ahead, _ := number(5)
	waiting, _ := number(6)
	a.hasWaiters = waiting > 0
	a.waitersAhead = int(max(0, min(ahead, math.MaxInt32))) // pauses are computed from it
	return a
}

// isQueueFull reports whether a request was refused because the queue has no room.
func (a answer) isQueueFull() bool { return a.token == 0 && a.tokens < 0 }

// refusalError is the error for a refused request. waits says whether its owner may wait.
func (a answer) refusalError(waits bool) error {
	switch {
	case a.closedFor > 0 && waits:
		return newClosedError(a.closedFor).AsHeld()
	case a.closedFor > 0:
		return driver.NoEffect(newClosedError(a.closedFor))
	case a.isEndKnown && a.holderEndsIn > 0:
		return &driver.HeldError{Left: a.holderEndsIn}
	}
	return driver.ErrHeld
}

// roundUpMicros rounds up to microseconds, so that no lease is shorter than was asked for.
func roundUpMicros(d time.Duration) time.Duration {
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}
