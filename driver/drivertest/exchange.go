package drivertest

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var exchange = []check{
	{"ExchangeReleasesAndTakes", exchangeReleasesAndTakes},
	{"ExchangeServesWaitersFirst", exchangeServesWaitersFirst},
	{"ExchangeJoins", exchangeJoins},
	{"ExchangeByAnOwnerThatDoesNotHold", exchangeByAnOwnerThatDoesNotHold},
	{"ExchangeOfManyAtOnce", exchangeOfManyAtOnce},
	{"ExchangeOfEachKind", exchangeOfEachKind},
	{"ExchangeWithAnEndedContext", exchangeWithAnEndedContext},
	{"ExchangeWithoutReply", exchangeWithoutReply},
}

// exchanger opens an engine that can exchange.
func (e *env) exchanger() driver.Exchanger {
	e.Helper()
	x, ok := e.open().(driver.Exchanger)
	e.needs(ok, "exchange of a release and a take")
	return x
}

func before(r driver.Request) driver.Release { return driver.Release{Hold: holdOf(r)} }

func exchangeReleasesAndTakes(e *env) {
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	held := e.lock("name")
	last := e.take(a, held).Token
	for i := range 10 {
		next := e.lock("name")
		next.Tokens = 1 + i%2
		g, released, err := x.Exchange(e.ctx, before(held), next)
		if released != nil || err != nil {
			e.Fatalf("Exchange by the holder: %v, %v", released, err)
		}
		e.checkGrant(next, g)
		if g.Token <= last {
			e.Errorf("token %d follows %d", g.Token, last)
		}
		e.checkNotHeld(b, held)
		e.mustBeRefused(b, e.lock("name"))
		e.mustRenew(a, next, e.long)
		held, last = next, g.Token
	}
	e.release(a, held)
	e.checkFree(b, held)
}

// Waiters come before whoever releases and takes again.
func exchangeServesWaitersFirst(e *env) {
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	held := e.lock("name")
	first := e.take(a, held)
	w := e.join(b, e.lock("name"))
	next := e.lock("name")
	_, released, err := x.Exchange(e.ctx, before(held), next)
	if released != nil || !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("Exchange while another waits: %v, %v; want ErrHeld from the take", released, err)
	}
	if g := w.mustBeGranted(); g.Token <= first.Token {
		e.Errorf("token %d follows %d", g.Token, first.Token)
	}
	e.release(b, w.request)
	e.checkFree(a, held)
}

func exchangeJoins(e *env) {
	e.needs(e.can.Fair, "order among waiters")
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	held := e.lock("name")
	e.take(a, held)
	w := e.join(b, e.lock("name"))
	next := e.lock("name")
	next.Join = true
	if _, released, err := x.Exchange(e.ctx, before(held), next); released != nil || !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("Exchange while another waits: %v, %v; want ErrHeld from the take", released, err)
	}
	second := e.wait(a, next)
	w.mustBeGranted()
	second.checkWaiting()
	e.release(b, w.request)
	second.mustBeGranted()
	e.release(a, next)
	e.checkFree(b, held)
}

func exchangeByAnOwnerThatDoesNotHold(e *env) {
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	next := e.lock("name")
	if _, released, err := x.Exchange(e.ctx, before(e.lock("name")), next); !errors.Is(released, driver.ErrNotHeld) ||
		err != nil {
		e.Fatalf("Exchange of a free name by an owner that does not hold: %v, %v", released, err)
	}
	e.mustBeRefused(b, e.lock("name"))
	_, released, err := x.Exchange(e.ctx, before(e.lock("name")), e.lock("name"))
	if !errors.Is(released, driver.ErrNotHeld) || !errors.Is(err, driver.ErrHeld) {
		e.Fatalf("Exchange of a held name by an owner that does not hold: %v, %v", released, err)
	}
	e.mustRenew(a, next, e.long)
	e.release(a, next)
	e.checkFree(b, next)
}

// Exchanges of many callers may be sent together.
func exchangeOfManyAtOnce(e *env) {
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	const callers, turns = 16, 20
	failed := make(chan error, callers)
	last := make([]driver.Request, callers)
	for i := range callers {
		go func() {
			held := e.lock(string(rune('a' + i)))
			_, err := a.Take(e.ctx, held)
			for n := 0; n < turns && err == nil; n++ {
				next := e.lock(string(rune('a' + i)))
				var released error
				_, released, err = x.Exchange(e.ctx, before(held), next)
				err, held = errors.Join(err, released), next
			}
			last[i] = held
			failed <- err
		}()
	}
	for range callers {
		if err := <-failed; err != nil {
			e.Errorf("an exchange among others: %v", err)
		}
	}
	for _, r := range last {
		e.mustBeRefused(b, e.byNewOwner(r))
		e.release(a, r)
		e.checkFree(b, r)
	}
}

func exchangeOfEachKind(e *env) {
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	kinds := map[string]func() driver.Request{}
	if e.can.Shared {
		kinds["read lock"] = func() driver.Request { return e.reader("read") }
	}
	if e.can.Semaphores {
		kinds["permits"] = func() driver.Request { return e.permits("permits", 3, 2) }
	}
	for name, request := range kinds {
		held, next := request(), request()
		e.take(a, held)
		if _, released, err := x.Exchange(e.ctx, before(held), next); released != nil || err != nil {
			e.Errorf("%s: Exchange by the holder: %v, %v", name, released, err)
		}
		e.checkNotHeld(b, held)
		e.release(b, next)
		e.checkFree(b, held)
	}
}

func exchangeWithAnEndedContext(e *env) {
	x, b := e.exchanger(), e.open()
	a := x.(driver.Engine)
	held, next := e.lock("name"), e.lock("name")
	e.take(a, held)
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, released, err := x.Exchange(ctx, before(held), next)
	if driver.IsNo(released) || driver.IsNo(err) {
		e.Errorf("Exchange with an ended context says no: %v, %v", released, err)
	}
	for _, r := range []driver.Request{held, next} {
		if err := a.Release(e.ctx, before(r)); err != nil && !errors.Is(err, driver.ErrNotHeld) {
			e.Errorf("Release after an unknown outcome: %v", err)
		}
	}
	e.checkFree(b, held)
}

func exchangeWithoutReply(e *env) {
	e.exchanger()
	a, b := e.faulty(Exchange, lostReply), e.open()
	held, next := e.lock("name"), e.lock("name")
	e.take(a, held)
	_, released, err := a.Exchange(e.ctx, before(held), next)
	e.checkUnknown(released)
	e.checkUnknown(err)
	e.mustBeRefused(b, e.lock("name"))
	e.checkNotHeld(b, held)
	e.release(a, next)
	e.checkFree(b, held)
}
