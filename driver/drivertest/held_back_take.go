package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// heldUpTake sends a take that hangs at once, and releases its owner, as the core does. arrive lets it arrive.
func (e *env) heldUpTake(engine driver.Engine, r driver.Request) (arrive func() error) {
	e.Helper()
	arrive = e.heldUp(engine, Take, func(f *Faulty) error {
		_, err := f.Take(e.ctx, r)
		return err
	})
	// Another engine sends it, since one that knows of the take may hold the release back for as long.
	e.cleaned(e.open(), r)
	return arrive
}

// cleaned releases an owner of which nobody knows what it has.
func (e *env) cleaned(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, let(r)); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		e.Fatalf("Release of an owner whose take was given up: %v", err)
	}
}

// refusedLate checks what a late take of what another holds has answered.
func (e *env) refusedLate(err error) {
	e.Helper()
	if err == nil {
		e.Error("a take that came late was granted what another holds")
	}
}

func heldBackTake(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	arrive := e.heldUpTake(a, r)
	next := e.holds(b, e.lock("name"))
	e.refusedLate(arrive())
	w := e.join(a, e.lock("name"))
	e.cleaned(a, r)
	e.untouched(next, w)
}

// What it takes is free, so it may hold until its owner is released again.
func heldBackTakeOfAFreeName(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	arrive := e.heldUpTake(a, r)
	_ = arrive() // an engine that knows that its owner was released may refuse it
	e.cleaned(a, r)
	e.free(b, e.lock("name"))
}

// It may wait until its owner is released again, but is not served after that.
func heldBackJoin(e *env) {
	a, b := e.open(), e.open()
	holder := e.holds(a, e.lock("name"))
	r := e.lock("name")
	r.Join = true
	arrive := e.heldUpTake(b, r)
	e.refusedLate(arrive())
	w := e.join(a, e.lock("name"))
	e.cleaned(b, r)
	e.untouched(holder, w)
}

// The owner was the first of its call, which goes on with another one and waits at the same place.
func heldBackJoinOfThePlace(e *env) {
	a, b := e.open(), e.open()
	holder := e.holds(a, e.lock("name"))
	r := e.placed("name", "")
	r.Join = true
	arrive := e.heldUpTake(b, r)
	line := e.line(e.join(b, e.placed("name", r.Place)))
	e.refusedLate(arrive())
	e.cleaned(b, r)
	e.untouched(holder, line...)
}
