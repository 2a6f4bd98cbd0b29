package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// sendTakeHeldBack sends a take that hangs at once, and releases its owner, as the core does.
// arrive lets the take arrive.
func (e *env) sendTakeHeldBack(engine driver.Engine, r driver.Request) (arrive func() error) {
	e.Helper()
	arrive = e.sendHeldBack(engine, Take, func(f *Faulty) error {
		_, err := f.Take(e.ctx, r)
		return err
	})
	// Another engine sends the release, since one that knows of the take may hold the release back
	// for as long.
	e.releaseUnknown(e.open(), r)
	return arrive
}

// releaseUnknown releases an owner that may hold, wait, or neither.
func (e *env) releaseUnknown(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := engine.Release(e.ctx, releaseAt(r)); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		e.Fatalf("Release of an owner whose take was given up: %v", err)
	}
}

// checkRefusedLate checks the answer to a late take of a held name.
func (e *env) checkRefusedLate(err error) {
	e.Helper()
	if err == nil {
		e.Error("a take that came late was granted a held name")
	}
}

func heldBackTake(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	arrive := e.sendTakeHeldBack(a, r)
	next := e.mustHold(b, e.lock("name"))
	e.checkRefusedLate(arrive())
	w := e.join(a, e.lock("name"))
	e.releaseUnknown(a, r)
	e.checkUntouched(next, w)
}

// The name is free, so the owner may hold it until it is released again.
func heldBackTakeOfAFreeName(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	arrive := e.sendTakeHeldBack(a, r)
	_ = arrive() // an engine that knows that the owner was released may refuse it
	e.releaseUnknown(a, r)
	e.checkFree(b, e.lock("name"))
}

// The owner may wait until it is released again, but is not served after that.
func heldBackJoin(e *env) {
	a, b := e.open(), e.open()
	holder := e.mustHold(a, e.lock("name"))
	r := e.lock("name")
	r.Join = true
	arrive := e.sendTakeHeldBack(b, r)
	e.checkRefusedLate(arrive())
	w := e.join(a, e.lock("name"))
	e.releaseUnknown(b, r)
	e.checkUntouched(holder, w)
}

// The owner was the first of its call, which continues with another one and waits at the same
// place.
func heldBackJoinOfThePlace(e *env) {
	a, b := e.open(), e.open()
	holder := e.mustHold(a, e.lock("name"))
	r := e.requestAt("name", "")
	r.Join = true
	arrive := e.sendTakeHeldBack(b, r)
	inQueue := e.waitersOf(e.join(b, e.requestAt("name", r.Place)))
	e.checkRefusedLate(arrive())
	e.releaseUnknown(b, r)
	e.checkUntouched(holder, inQueue...)
}
