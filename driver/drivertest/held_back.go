package drivertest

import (
	"cmp"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// A request may be in flight for any length of time. These checks hold a request back until its
// owner has given up, and somebody else holds or waits. When the request arrives at last, it must
// not affect them.
var heldBack = []check{
	{"ReleaseHurtsNoHolder", heldBackRelease},
	{"ReleaseHurtsNoOwnerOfTheSamePlace", heldBackReleaseOfThePlace},
	{"ReleaseHurtsNoWaiter", heldBackReleaseOfAWaiter},
	{"RenewalBringsNothingBack", heldBackRenewal},
	{"DowngradeHurtsNoHolder", heldBackDowngrade},
	{"ForceReleaseHurtsNoHolder", heldBackForce},
	{"TakeHurtsNoHolder", heldBackTake},
	{"TakeIsCleanedByOneMoreRelease", heldBackTakeOfAFreeName},
	{"JoinIsCleanedByOneMoreRelease", heldBackJoin},
	{"JoinHurtsNoOwnerOfTheSamePlace", heldBackJoinOfThePlace},
}

// sendHeldBack sends a request in the background, which hangs at once. arrive lets it arrive and
// returns its error.
func (e *env) sendHeldBack(engine driver.Engine, m Method, request func(*Faulty) error) (arrive func() error) {
	e.Helper()
	f := NewFaulty(engine, first(m, Fault{Hang: true}))
	late := make(chan error, 1)
	go func() { late <- request(f) }()
	e.awaitHanging(f)
	return func() error {
		f.Resume()
		f.AwaitEffects()
		return <-late
	}
}

// holding is a hold with the engine that it was taken on.
type holding struct {
	engine  driver.Engine
	request driver.Request // by the owner that the grant names, as the core continues
	grant   driver.Grant
}

// mustHold takes a name that must be free.
func (e *env) mustHold(engine driver.Engine, r driver.Request) holding {
	e.Helper()
	g := e.take(engine, r)
	r.Owner = cmp.Or(g.Owner, r.Owner)
	return holding{engine, r, g}
}

// checkUntouched checks that the holder still holds what it was granted, and that the waiters are
// granted the name afterwards, in their order.
func (e *env) checkUntouched(h holding, inQueue ...*waiter) {
	e.Helper()
	e.mustBeRefused(h.engine, e.lock("name"))
	e.mustRenew(h.engine, h.request, e.long)
	e.release(h.engine, h.request)
	last := h.grant.Token
	for _, w := range inQueue {
		g := w.mustBeGranted()
		if g.Token <= last {
			e.Errorf("token %d follows %d", g.Token, last)
		}
		last = g.Token
		e.release(w.engine, w.request)
	}
	e.checkFree(h.engine, e.lock("name"))
}

// waitersOf returns w and, if the engine is fair, another waiter behind it, which overtakes w if w
// has lost its place.
func (e *env) waitersOf(w *waiter) []*waiter {
	e.Helper()
	if !e.can.Fair {
		return []*waiter{w}
	}
	return []*waiter{w, e.join(w.engine, e.lock("name"))}
}

// checkHarmless checks the answer to a late request.
func (e *env) checkHarmless(what string, err error) {
	e.Helper()
	if !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("%s that came late: %v, want ErrNotHeld", what, err)
	}
}

// requestAt returns a request for a lock by a new owner of the call with this place, or by the
// first owner of a new call if place is empty.
func (e *env) requestAt(name, place string) driver.Request {
	r := e.lock(name)
	r.Place = cmp.Or(place, r.Owner)
	return r
}

// releaseAt returns the release of an owner that may wait at the place of its call.
func releaseAt(r driver.Request) driver.Release {
	return driver.Release{Hold: holdOf(r), Place: r.Place}
}

func heldBackRelease(e *env) {
	a, b := e.open(), e.open()
	r := e.mustHold(a, e.lock("name")).request
	arrive := e.sendHeldBack(a, Release, func(f *Faulty) error { return f.Release(e.ctx, releaseAt(r)) })
	e.release(a, r)
	next := e.mustHold(b, e.lock("name"))
	w := e.join(a, e.lock("name"))
	e.checkHarmless("a release", arrive())
	e.checkUntouched(next, w)
}

// The same call continues with another owner at the same place.
func heldBackReleaseOfThePlace(e *env) {
	a := e.open()
	r := e.mustHold(a, e.requestAt("name", "")).request
	arrive := e.sendHeldBack(a, Release, func(f *Faulty) error { return f.Release(e.ctx, releaseAt(r)) })
	if err := a.Release(e.ctx, releaseAt(r)); err != nil {
		e.Fatalf("Release by the holder: %v", err)
	}
	next := e.mustHold(a, e.requestAt("name", r.Place))
	e.checkHarmless("a release", arrive())
	e.checkUntouched(next)
}

func heldBackReleaseOfAWaiter(e *env) {
	a, b := e.open(), e.open()
	holder := e.mustHold(a, e.lock("name"))
	r := e.requestAt("name", "")
	r.Join = true
	e.mustBeRefused(b, r)
	arrive := e.sendHeldBack(b, Release, func(f *Faulty) error { return f.Release(e.ctx, releaseAt(r)) })
	inQueue := e.waitersOf(e.join(b, e.requestAt("name", r.Place)))
	e.checkHarmless("a release", arrive())
	e.checkUntouched(holder, inQueue...)
}

func heldBackRenewal(e *env) {
	a, b := e.open(), e.open()
	r := e.mustHold(a, e.lock("name")).request
	renew := func(f *Faulty) error { return e.renew(f, r, e.long) }
	one, two := e.sendHeldBack(a, Renew, renew), e.sendHeldBack(a, Renew, renew)
	e.release(a, r)
	e.checkHarmless("a renewal", one())
	e.checkFree(b, e.lock("name"))
	next := e.mustHold(b, e.lock("name"))
	e.checkHarmless("a renewal", two())
	e.checkUntouched(next)
}

func heldBackDowngrade(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	r := e.mustHold(a, e.lock("name")).request
	arrive := e.sendHeldBack(a, Downgrade, func(f *Faulty) error { return f.Downgrade(e.ctx, holdOf(r)) })
	e.release(a, r)
	next := e.mustHold(b, e.lock("name"))
	e.checkHarmless("a downgrade", arrive())
	e.mustBeRefused(a, e.reader("name"))
	e.checkUntouched(next)
}

func heldBackForce(e *env) {
	e.forcer()
	a, b := e.open(), e.open()
	old := e.mustHold(a, e.lock("name"))
	arrive := e.sendHeldBack(a, ForceRelease, func(f *Faulty) error {
		return f.ForceRelease(e.ctx, old.request.Key, old.grant.Token)
	})
	e.release(a, old.request)
	next := e.mustHold(b, e.lock("name"))
	e.checkHarmless("a forced release", arrive())
	e.checkUntouched(next)
}
