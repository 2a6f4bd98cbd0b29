package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// errNoAnswer is what a look of a waiter ends with that the server leaves without an answer.
var errNoAnswer = errors.New("redis: no answer in time")

// lookLimit is how long one look of a waiter may take.
const lookLimit = 5 * time.Second

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.Waiters = true, 0
	n := e.names(r.Key)
	timer := time.NewTimer(0)
	defer timer.Stop()
	w := e.waiters.find(r.Owner)
	for {
		if w != nil {
			timer.Reset(w.pause())
			select {
			case <-w.wake:
			case <-timer.C:
			case <-ctx.Done():
				return driver.Grant{}, driver.NoEffect(ctx.Err())
			}
			if gift := w.taken(); gift != nil && e.replicas == 0 {
				e.waiters.forget(r.Owner)
				if gift.waiting {
					e.wanted.Add(r.Key)
				}
				return gift.grant, nil
			}
			if w.hinted() {
				continue
			}
		}
		w = e.waiters.add(r.Owner, r.Key) // not by a look, which may go on after this has returned
		g, err := e.lookAgain(ctx, r, n, w)
		if !errors.Is(err, driver.ErrHeld) {
			return g, err
		}
	}
}

// lookAgain asks once whether it is the owner's turn. It is a join: the owner keeps its place.
func (e *Engine) lookAgain(ctx context.Context, r driver.Request, n names, w *waiter) (driver.Grant, error) {
	g, err := within(ctx, min(lookLimit, max(r.TTL/2, 100*time.Millisecond)), func(ctx context.Context) (driver.Grant, error) { return e.join(ctx, r, n, w) })
	if e.mayUndo(err) {
		if ctx.Err() == nil { // else nobody comes after it
			e.turns.Add(r.Owner)
		}
		err = driver.Spent(err)
	}
	return g, err
}

// within returns what f does, or an error if ctx ends or the limit is reached first, even if f does not care. f then goes on by itself.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		v, err := f(inner)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-inner.Done():
		var none T
		if err := ctx.Err(); err != nil {
			return none, err
		}
		return none, errNoAnswer
	}
}

// heard takes in a message to this process.
func (e *Engine) heard(message string) {
	words := strings.Fields(message)
	if len(words) < 3 {
		return
	}
	numbers := make([]int64, len(words))
	for i, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return
		}
		numbers[i+1] = n
	}
	w := e.waiters.ticket(uint64(numbers[1]))
	switch {
	case w == nil: // it has given up; the core releases
	case words[0] == "g" && len(words) == 7:
		g, err := grantOf(numbers[2], numbers[3], driver.Request{Tokens: int(min(numbers[3], mostTokens))})
		if g.TTL = span(numbers[4]); err != nil || g.TTL <= 0 {
			w.poke() // no script has said that: a look tells
			return
		}
		w.given(gift{grant: g, waiting: numbers[6] > 0}, numbers[5])
	case words[0] == "h":
		w.leads(span(numbers[2]))
	}
}
