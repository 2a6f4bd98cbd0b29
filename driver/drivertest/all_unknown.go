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
	batch := e.some("a", "b")
	_, err := a.TakeAll(ctx, batch)
	if driver.IsNo(err) {
		e.Errorf("TakeAll of free names with an ended context says no: %v", err)
	}
	none := err != nil && driver.HadNoEffect(err)
	for _, r := range batch {
		if none {
			e.free(b, r)
		}
		e.undone(a, b, r)
	}
}

// undone releases what the owner may hold or not, as the core does after an unknown outcome.
func (e *env) undone(engine, other driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, driver.Release{Hold: hold(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release after an unknown outcome: %v", err)
	}
	e.free(other, r)
}

func allWithoutReplyIsUndone(e *env) {
	e.taker()
	a, b := e.faulty(TakeAll, broken), e.open()
	batch := e.some("a", "b")
	_, err := a.TakeAll(e.ctx, batch)
	e.isUnknown(err)
	for _, r := range batch {
		e.refused(b, e.anew(r))
		e.release(a, r)
		e.free(b, r)
	}
}

func allWithoutReplyIsRepeated(e *env) {
	b := e.taker()
	a := e.faulty(TakeAll, broken)
	batch := e.some("a", "b")
	_, err := a.TakeAll(e.ctx, batch)
	e.isUnknown(err)
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
	batch := e.some("a", "b")
	late := make(chan error, 1)
	go func() {
		_, err := a.TakeAll(e.ctx, batch)
		late <- err
	}()
	e.hangs(a)
	for _, r := range batch {
		e.forgotten(b, r)
	}
	a.Resume()
	if err := <-late; err != nil {
		e.Errorf("TakeAll: %v", err)
	}
	for _, r := range batch {
		e.undone(a, b, r) // the core goes on releasing until the request cannot come any more
	}
}
