package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// refusal is what the server says of a name that is not to be had now.
type refusal struct {
	server  int64         // its clock, in milliseconds
	ends    time.Duration // until the next lease ends; negative if it never does
	place   int           // in the queue, 0 is the head; negative if not in it
	foreign bool          // held by a client of another kind, which tells nobody of its release
}

// Take implements [driver.Engine].
func (e *Engine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Kind != driver.Lock && r.Kind != driver.Semaphore {
		return driver.Grant{}, driver.Permanent(fmt.Errorf("a %s cannot be taken: ask for a lock or a semaphore", r.Kind))
	}
	if err := checkOwner(r.Owner); err != nil {
		return driver.Grant{}, err
	}
	n := e.names(r.Key)
	if r.Join && e.crowded.Has(r.Key) && e.hears(n) {
		return e.join(ctx, r, n, e.waiters.add(r.Owner, r.Key))
	}
	// Hardly any lock is held when it is asked for: so do not begin to listen before it is known to be.
	var g driver.Grant
	err := errAsk
	if e.mayBeFree(r) {
		g, err = e.takeFree(ctx, r, n)
	}
	if e.unsettled(r, err) {
		return e.takeHeld(ctx, r, n, err)
	}
	return g, err
}

// unsettled reports whether an answer to a take is not the last word.
func (e *Engine) unsettled(r driver.Request, err error) bool {
	return errors.Is(err, errAsk) || r.Join && refused(err)
}

// takeHeld goes on with a take whose answer is unsettled.
func (e *Engine) takeHeld(ctx context.Context, r driver.Request, n names, err error) (g driver.Grant, _ error) {
	if errors.Is(err, errAsk) {
		g, _, err = e.take(ctx, r, n, nil)
	}
	if r.Join && refused(err) {
		e.crowded.Add(r.Key)
		return e.join(ctx, r, n, e.waiters.add(r.Owner, r.Key))
	}
	return g, err
}

// mayBeFree reports whether takeFree can see to a request, if the name is free. It is not while others wait for it, as they did when this process was
// granted it: then the owner has been granted it already, and asks for more of it.
func (e *Engine) mayBeFree(r driver.Request) bool {
	return r.Kind == driver.Lock && r.Mode == driver.Exclusive && e.replicas == 0 && !e.wanted.Has(r.Key)
}

// errAsk says that it takes the whole script to tell.
var errAsk = errors.New("ask again")

// refused reports whether err says that the name is not to be had now, but may be later.
func refused(err error) bool {
	_, closed := errors.AsType[*ClosedError](err)
	return closed || errors.Is(err, driver.ErrHeld)
}

// join takes, or queues and remembers the place.
func (e *Engine) join(ctx context.Context, r driver.Request, n names, w *waiter) (driver.Grant, error) {
	if err := e.listen(ctx, w, n); err != nil {
		e.waiters.forget(r.Owner) // nobody releases what has had no effect
		return driver.Grant{}, err
	}
	sent := driver.Now()
	w.asks(sent)
	g, no, err := e.take(ctx, r, n, w)
	switch {
	case err == nil:
		e.waiters.forget(r.Owner)
		g.Start = sent
	case errors.Is(err, driver.ErrHeld):
		e.crowded.Add(r.Key)
		w.refused(sent, no)
	case driver.HadNoEffect(err):
		e.waiters.forget(r.Owner)
	}
	return g, err
}

// take runs the script. With w, the owner joins the queue as w.
func (e *Engine) take(ctx context.Context, r driver.Request, n names, w *waiter) (driver.Grant, refusal, error) {
	mode, weight, size := "x", 1, 1
	switch {
	case r.Kind == driver.Semaphore:
		mode, weight, size = "s", r.Weight, r.Size
	case r.Mode == driver.Shared:
		mode, size = "s", 1<<31-1
	}
	way, ticket, process, waiters := "", uint64(0), "", 0
	if w != nil {
		way, ticket, process, waiters = w.how(), w.ticket, e.ears.process, r.Waiters
	}
	answer, on, err := e.runBy(ctx, e.confirmed, take, n, flagged, newWords(n.all(),
		r.Owner, millis(r.TTL), max(r.Tokens, 1), least(r), public(r.Holder), mode, weight, size, way, ticket, process, placeOf(r.Place, r.Owner), waiters, ""))
	short, unconfirmed := errors.AsType[*shortfallError](err)
	if err != nil && !unconfirmed {
		return driver.Grant{}, refusal{}, err
	}
	g, waiting, no, err := readTake(answer, r)
	if err == nil && unconfirmed {
		return driver.Grant{}, refusal{}, e.undo(ctx, short, hasWaited(r, w), r)
	}
	if err != nil {
		if gate := e.place.gate(n, on); gate.closedFor() > 0 && errors.Is(err, driver.ErrHeld) {
			left := gate.closedFor()
			if no.ends == 0 { // nobody holds
				err = whileClosed(w != nil, gate.reason())
			}
			if no.place <= 0 || no.ends < left { // nobody tells the head of a release until grants open
				no.ends = left
			}
		}
		return g, no, err
	}
	if waiting {
		e.wanted.Add(r.Key)
	}
	return g, no, nil
}

// hasWaited reports whether a request comes of somebody who waits: as w, or as an owner that has been spent. Only for those the core makes another owner.
func hasWaited(r driver.Request, w *waiter) bool {
	return r.Place != "" && r.Place != r.Owner || w != nil && w.hasBeenRefused()
}

// whileClosed is the answer for what would be granted, if grants were not closed. Who has joined waits for that.
func whileClosed(joined bool, closed *ClosedError) error {
	if joined {
		return fmt.Errorf("%w: %w", driver.ErrHeld, closed)
	}
	return driver.NoEffect(closed)
}

// readTake reads the answer of the script.
func readTake(answer any, r driver.Request) (g driver.Grant, waiting bool, no refusal, err error) {
	if answer == any(int64(0)) {
		return g, false, no, driver.ErrCrowded
	}
	list, err := integers(answer, 3)
	switch {
	case err != nil:
		return g, false, no, err
	case list[0] != 0:
		g, err = grantOf(list[0], list[1], r)
		return g, list[2] > 0, no, err
	case len(list) < 5:
		return g, false, no, errReply
	}
	no = refusal{server: list[1], ends: span(list[2]), place: int(list[3]), foreign: list[4] == 1}
	return g, false, no, &driver.HeldError{Left: no.ends}
}

// grantOf makes a grant of what a script has answered.
func grantOf(token, tokens int64, r driver.Request) (driver.Grant, error) {
	if token <= 0 || tokens <= 0 || token > driver.MaxToken || tokens > driver.MaxToken-token+1 {
		return driver.Grant{}, errReply
	}
	return driver.Grant{Token: uint64(token), Tokens: int(min(tokens, int64(max(r.Tokens, 1))))}, nil
}

// integers reads a list of at least so many numbers.
func integers(answer any, least int) ([]int64, error) {
	items, ok := answer.([]any)
	if !ok || len(items) < least {
		return nil, errReply
	}
	list := make([]int64, len(items))
	for i, item := range items {
		if list[i], ok = item.(int64); !ok {
			return nil, errReply
		}
	}
	return list, nil
}
