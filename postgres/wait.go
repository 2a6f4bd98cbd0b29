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

// lookLimit is how long one look of a waiter may take.
const lookLimit = 5 * time.Second

// Wait implements [driver.Engine].
func (e *Engine) Wait(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Join, r.Waiters = true, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if w := e.waiters.find(r.Owner); w != nil {
			if g, err := e.sleep(ctx, r, w, timer); g.Token != 0 || err != nil {
				return g, err
			}
		}
		if g, err := e.look(ctx, r); !errors.Is(err, driver.ErrHeld) {
			return g, err
		}
	}
}

// sleep returns when there is a grant, or when it is time to look: then without one.
func (e *Engine) sleep(ctx context.Context, r driver.Request, w *waiter, timer *time.Timer) (none driver.Grant, err error) {
	for {
		timer.Reset(w.pause())
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
			return none, driver.NoEffect(ctx.Err()) // nothing is under way
		case <-e.life.Done():
			return none, errClosed
		}
		gift, hinted := w.taken()
		if gift == nil && hinted {
			continue
		}
		if gift == nil {
			return none, nil
		}
		e.waiters.forget(r.Owner)
		if gift.waiting {
			e.wanted.Add(r.Key)
		}
		return gift.grant, nil
	}
}

// look asks once whether it is the owner's turn. It is a join: the owner keeps its place.
func (e *Engine) look(ctx context.Context, r driver.Request) (driver.Grant, error) {
	inner, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	g, err := e.Take(inner, r)
	if err != nil && ctx.Err() != nil {
		return driver.Grant{}, ctx.Err() // not marked: the look may have had an effect
	}
	return g, err
}

// heard takes in a message to this process.
func (e *Engine) heard(message string) {
	word, rest, _ := strings.Cut(message, " ")
	if word == "l" {
		e.ears.stir(rest)
		return
	}
	if word == "h" {
		e.hinted(rest)
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
	w := e.waiters.ticket(numbers[0])
	if w == nil { // it has given up; the core releases
		return
	}
	g, err := grantOf(numbers[1], numbers[2], tokensPerGrant)
	if g.TTL = micros(numbers[3]); err != nil || g.TTL <= 0 {
		w.poke() // no function has said that: a look tells
		return
	}
	w.given(gift{grant: g, at: time.UnixMicro(numbers[4]), waiting: numbers[5] > 0})
}

// hinted takes in that a waiter is the head of the queue, and when the lease in front ends.
func (e *Engine) hinted(message string) {
	hint, ends, _ := strings.Cut(message, " ")
	h, err := strconv.ParseUint(hint, 16, 64)
	if err != nil {
		return
	}
	n, err := strconv.ParseInt(ends, 10, 64)
	if w := e.waiters.hint(h); w != nil && err == nil {
		w.leads(micros(n))
	}
}

// micros are so many microseconds, or the longest time there is.
func micros(n int64) time.Duration {
	const most = math.MaxInt64 / 2 / int64(time.Microsecond) // something may be added to it
	return time.Duration(max(min(n, most), -most)) * time.Microsecond
}
