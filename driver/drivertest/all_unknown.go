package drivertest

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

func allWithAnEndedContext(e *env) {
	a, b := e.taker(), e.open()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	batch := e.locks("a", "b")
	_, err := a.TakeAll(ctx, batch)
	if driver.IsNo(err) {
		e.Errorf("TakeAll of free names with an ended context says no: %v", err)
	}
	none := err != nil && driver.HadNoEffect(err)
	for _, r := range batch {
		if none {
			e.checkFree(b, r)
		}
		e.checkUndone(a, b, r)
	}
}

// checkUndone releases an owner that may hold or not, as the core does after an unknown outcome,
// and checks that the name is free.
func (e *env) checkUndone(engine, other driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, driver.Release{Hold: holdOf(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release after an unknown outcome: %v", err)
	}
	e.checkFree(other, r)
}

func allWithoutReplyIsUndone(e *env) {
	e.taker()
	a, b := e.faulty(TakeAll, lostReply), e.open()
	batch := e.locks("a", "b")
	_, err := a.TakeAll(e.ctx, batch)
	e.checkUnknown(err)
	for _, r := range batch {
		e.mustBeRefused(b, e.byNewOwner(r))
		e.release(a, r)
		e.checkFree(b, r)
	}
}

func allWithoutReplyIsRepeated(e *env) {
	b := e.taker()
	a := e.faulty(TakeAll, lostReply)
	batch := e.locks("a", "b")
	_, err := a.TakeAll(e.ctx, batch)
	e.checkUnknown(err)
	first := e.takeAll(a, batch)
	for i, g := range e.takeAll(b, batch) {
		if g.Token != first[i].Token {
			e.Errorf("TakeAll answers token %d, and %d when repeated", first[i].Token, g.Token)
		}
	}
}

func allThatComesLate(e *env) {
	e.taker()
	a, b := e.faulty(TakeAll, Fault{Hang: true}), e.open()
	batch := e.locks("a", "b")
	late := make(chan error, 1)
	go func() {
		_, err := a.TakeAll(e.ctx, batch)
		late <- err
	}()
	e.awaitHanging(a)
	for _, r := range batch {
		e.checkNotHeld(b, r)
	}
	a.Resume()
	a.AwaitEffects()
	if err := <-late; err != nil {
		e.Errorf("TakeAll: %v", err)
	}
	for _, r := range batch {
		e.checkUndone(a, b, r) // the core keeps releasing until the request can no longer arrive
	}
}
