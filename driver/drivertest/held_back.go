package drivertest

import (
	"cmp"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

// A request may be under way for any time. These checks hold one back until its owner is long gone, and somebody else
// holds or waits: when it arrives at last, nothing happens to them.
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

// heldUp sends a request in the background, which hangs at once, and returns what lets it arrive and tells its error.
func (e *env) heldUp(engine driver.Engine, m Method, request func(*Faulty) error) (arrive func() error) {
	e.Helper()
	f := NewFaulty(engine, first(m, Fault{Hang: true}))
	late := make(chan error, 1)
	go func() { late <- request(f) }()
	e.hangs(f)
	return func() error {
		f.Resume()
		return <-late
	}
}

// holding is who holds, and the engine by which it does.
type holding struct {
	engine  driver.Engine
	request driver.Request // by the owner that the grant names, as the core goes on
	grant   driver.Grant
}

// holds takes what must be free.
func (e *env) holds(engine driver.Engine, r driver.Request) holding {
	e.Helper()
	g := e.take(engine, r)
	r.Owner = cmp.Or(g.Owner, r.Owner)
	return holding{engine, r, g}
}

// untouched checks that the holder still holds what it was granted, and that the name goes on to those who wait, in
// their order.
func (e *env) untouched(h holding, line ...*waiter) {
	e.Helper()
	e.refused(h.engine, e.lock("name"))
	e.renewed(h.engine, h.request, e.long)
	e.release(h.engine, h.request)
	last := h.grant.Token
	for _, w := range line {
		g := w.granted()
		if g.Token <= last {
			e.Errorf("token %d follows %d", g.Token, last)
		}
		last = g.Token
		w.request.Owner = cmp.Or(g.Owner, w.request.Owner)
		e.release(w.engine, w.request)
	}
	e.free(h.engine, e.lock("name"))
}

// line is a waiter, and another one behind it if the engine is fair: if the first one loses its place, that one passes
// it.
func (e *env) line(w *waiter) []*waiter {
	e.Helper()
	if !e.can.Fair {
		return []*waiter{w}
	}
	return []*waiter{w, e.join(w.engine, e.lock("name"))}
}

// harmless checks what a late request has answered.
func (e *env) harmless(what string, err error) {
	e.Helper()
	if !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("%s that came late: %v, want ErrNotHeld", what, err)
	}
}

// placed asks for a lock by another owner of the call that has the place, or by the first one of a new call.
func (e *env) placed(name, place string) driver.Request {
	r := e.lock(name)
	r.Place = cmp.Or(place, r.Owner)
	return r
}

// let releases an owner that may wait at the place of its call.
func let(r driver.Request) driver.Release { return driver.Release{Hold: hold(r), Place: r.Place} }

func heldBackRelease(e *env) {
	a, b := e.open(), e.open()
	r := e.holds(a, e.lock("name")).request
	arrive := e.heldUp(a, Release, func(f *Faulty) error { return f.Release(e.ctx, let(r)) })
	e.release(a, r)
	next := e.holds(b, e.lock("name"))
	w := e.join(a, e.lock("name"))
	e.harmless("a release", arrive())
	e.untouched(next, w)
}

// The same call goes on with another owner at the same place.
func heldBackReleaseOfThePlace(e *env) {
	a := e.open()
	r := e.holds(a, e.placed("name", "")).request
	arrive := e.heldUp(a, Release, func(f *Faulty) error { return f.Release(e.ctx, let(r)) })
	if err := a.Release(e.ctx, let(r)); err != nil {
		e.Fatalf("Release by the holder: %v", err)
	}
	next := e.holds(a, e.placed("name", r.Place))
	e.harmless("a release", arrive())
	e.untouched(next)
}

func heldBackReleaseOfAWaiter(e *env) {
	a, b := e.open(), e.open()
	holder := e.holds(a, e.lock("name"))
	r := e.placed("name", "")
	r.Join = true
	e.refused(b, r)
	arrive := e.heldUp(b, Release, func(f *Faulty) error { return f.Release(e.ctx, let(r)) })
	line := e.line(e.join(b, e.placed("name", r.Place)))
	e.harmless("a release", arrive())
	e.untouched(holder, line...)
}

func heldBackRenewal(e *env) {
	a, b := e.open(), e.open()
	r := e.holds(a, e.lock("name")).request
	renew := func(f *Faulty) error { return e.renew(f, r, e.long) }
	one, two := e.heldUp(a, Renew, renew), e.heldUp(a, Renew, renew)
	e.release(a, r)
	e.harmless("a renewal", one())
	e.free(b, e.lock("name"))
	next := e.holds(b, e.lock("name"))
	e.harmless("a renewal", two())
	e.untouched(next)
}

func heldBackDowngrade(e *env) {
	e.needsShared()
	a, b := e.open(), e.open()
	r := e.holds(a, e.lock("name")).request
	arrive := e.heldUp(a, Downgrade, func(f *Faulty) error { return f.Downgrade(e.ctx, hold(r)) })
	e.release(a, r)
	next := e.holds(b, e.lock("name"))
	e.harmless("a downgrade", arrive())
	e.refused(a, e.reader("name"))
	e.untouched(next)
}

func heldBackForce(e *env) {
	e.needs(e.can.Force, "forced release")
	a, b := e.open(), e.open()
	old := e.holds(a, e.lock("name"))
	arrive := e.heldUp(a, ForceRelease, func(f *Faulty) error {
		return f.ForceRelease(e.ctx, old.request.Key, old.grant.Token)
	})
	e.release(a, old.request)
	next := e.holds(b, e.lock("name"))
	e.harmless("a forced release", arrive())
	e.untouched(next)
}
