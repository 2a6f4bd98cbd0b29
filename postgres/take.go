package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// answer is what the function take answers.
type answer struct {
	token   int64         // 0 if it was refused
	tokens  int           // below 0 if it was refused, and there is no room in the queue
	at      time.Time     // by the clock of the server
	opens   time.Duration // for how long nothing is granted, as leases may have been lost; 0 if it is not for that
	ends    time.Duration // when the first lease in the way ends: below 0 if it has, and a transaction keeps the row; unknown if there is none
	known   bool          // ends is
	ahead   int           // wait in front
	waiting bool          // others wait behind one who was granted
}

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if !r.Join {
		return e.take(ctx, r, nil, 0)
	}
	w, added := e.waiters.add(r.Owner, r.Key)
	g, err := e.join(ctx, r, w)
	if added && driver.HadNoEffect(err) && !errors.Is(err, driver.ErrHeld) {
		e.waiters.forget(r.Owner) // nobody need release it
	}
	return g, err
}

// join is Take for somebody who may wait.
func (e *Engine) join(ctx context.Context, r driver.Request, w *waiter) (driver.Grant, error) {
	listener := e.ears.number()
	if listener == 0 && !e.polling {
		// Most often the name is free, and no connection is needed that listens.
		r.Join = false
		g, err := e.take(ctx, r, w, 0)
		if !errors.Is(err, driver.ErrHeld) {
			return g, err
		}
		r.Join = true
		if listener, err = e.ears.listen(ctx); err != nil {
			return driver.Grant{}, err
		}
	}
	return e.take(ctx, r, w, listener)
}

// take asks once, for somebody who waits if w is not nil: then with how it is told of a grant, or with 0 if it comes by itself.
func (e *Engine) take(ctx context.Context, r driver.Request, w *waiter, listener int64) (driver.Grant, error) {
	sent := driver.Now()
	if w != nil {
		w.asks(sent)
	}
	a, err := e.askTake(ctx, r, w, listener)
	if err != nil {
		return driver.Grant{}, err
	}
	if a.crowded() {
		return driver.Grant{}, driver.ErrCrowded
	}
	if a.token == 0 {
		if w != nil && r.Join {
			w.refused(sent, a, listener == 0)
		}
		return driver.Grant{}, a.refusal(w != nil)
	}
	if w != nil {
		e.waiters.forget(r.Owner)
	}
	if a.waiting {
		e.wanted.Add(r.Key)
	}
	g, err := grantOf(a.token, int64(a.tokens), max(r.Tokens, 1))
	g.Start = sent
	return g, err
}

// grantOf makes a grant of what the server says, if it can be one.
func grantOf(token, tokens int64, asked int) (driver.Grant, error) {
	if token < 1 || token > driver.MaxToken || tokens < 1 || tokens > driver.MaxToken-token+1 {
		return driver.Grant{}, errTokens
	}
	return driver.Grant{Token: uint64(token), Tokens: int(min(tokens, int64(asked)))}, nil
}

func (e *Engine) askTake(ctx context.Context, r driver.Request, w *waiter, listener int64) (a answer, err error) {
	var ear *int64
	if listener != 0 {
		ear = &listener
	}
	var ticket int64
	if w != nil {
		ticket = w.ticket
	}
	errand := e.errandOfTake(r, w)
	queries := [...]string{e.statements.take, e.statements.takeShut}
	args := []any{
		int16(r.Kind), r.Name, r.Owner, int16(r.Mode), int32(r.Weight), int32(r.Size), whole(r.TTL), int32(max(r.Tokens, 1)), r.Join,
		ear, ticket, r.Holder, e.maxTTL, e.guard,
	}
	if r.Join && r.Waiters > 0 {
		queries = [...]string{e.statements.takeAmong, e.statements.takeAmongShut}
		args = append(args, int32(min(r.Waiters, math.MaxInt32)))
	}
	var said []*int64
	for _, query := range queries {
		err = e.fly(ctx, errand, &said, query, args...)
		if err != nil {
			return a, err
		}
		if errand.isDone() {
			return answer{token: errand.token, tokens: int(errand.many)}, nil
		}
		if said != nil {
			break
		}
	}
	return answered(said), nil
}

// answered reads what the function take says: of a name that was just free, the tokens alone.
func answered(said []*int64) (a answer) {
	number := func(i int) (n int64, some bool) {
		if i >= len(said) || said[i] == nil {
			return 0, false
		}
		return *said[i], true
	}
	tokens, _ := number(1)
	a.tokens = int(tokens)
	a.token, _ = number(0)
	at, _ := number(2)
	a.at = time.UnixMicro(at)
	if opens, some := number(3); some {
		a.opens = max(micros(opens-at), time.Millisecond)
	}
	if ends, some := number(4); some {
		a.ends, a.known = micros(ends-at), true
	}
	ahead, _ := number(5)
	waiting, _ := number(6)
	a.ahead, a.waiting = int(max(0, min(ahead, math.MaxInt32))), waiting > 0 // pauses are computed from it
	return a
}

// crowded reports whether one who was refused found no room in the queue.
func (a answer) crowded() bool { return a.token == 0 && a.tokens < 0 }

// refusal is the answer to one who was refused, and who may wait.
func (a answer) refusal(waits bool) error {
	closed := &ClosedError{Open: time.Now().Add(a.opens)}
	switch {
	case a.opens > 0 && waits:
		return fmt.Errorf("%w: %w", driver.ErrHeld, closed)
	case a.opens > 0:
		return driver.NoEffect(closed)
	case a.known && a.ends > 0:
		return &driver.HeldError{Left: a.ends}
	}
	return driver.ErrHeld
}

// whole rounds up to microseconds, so that no lease is shorter than was asked for.
func whole(d time.Duration) time.Duration {
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}
