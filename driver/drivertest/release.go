package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var release = []check{
	{"ReleaseTwice", releaseTwice},
	{"ReleaseByAnotherChangesNothing", releaseByAnother},
	{"LateReleaseLeavesTheNextHolderAlone", lateRelease},
	{"KeepLeavesItTaken", keepLeavesItTaken},
	{"KeepBeyondTheLease", keepBeyondTheLease},
	{"KeepShorterThanTheLease", keepShorterThanTheLease},
	{"KeepEndsThePossession", keepEndsThePossession},
	{"KeepThenTheNextWaiter", keepThenTheNextWaiter},
	{"KeepByAnotherChangesNothing", keepByAnother},
	{"KeepOfPermits", keepOfPermits},
	{"KeepByAReader", keepByAReader},
}

func releaseTwice(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.release(a, r)
	e.forgotten(a, r)
	e.forgotten(b, r)
	e.forgotten(a, e.lock("never taken"))
	e.free(b, r)
}

func releaseByAnother(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.forgotten(b, e.lock("name"))
	e.refused(b, e.lock("name"))
	e.renewed(a, r, e.long)
}

func lateRelease(e *env) {
	a, b := e.open(), e.open()
	old := e.briefly(e.lock("name"))
	g := e.take(a, old)
	e.lapse()
	next := e.lock("name")
	e.take(b, next)

	e.forgotten(a, old)
	withToken := hold(old)
	withToken.Token = g.Token
	if err := a.Release(e.ctx, driver.Release{Hold: withToken}); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("late Release with the token: %v, want ErrNotHeld", err)
	}
	if err := e.keep(a, old); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("late Release with Keep: %v, want ErrNotHeld", err)
	}
	e.lapse()
	e.refused(a, e.lock("name"))
	e.renewed(b, next, e.long)
	e.release(b, next)
}

// keep releases with a short Keep.
func (e *env) keep(engine driver.Engine, r driver.Request) error {
	return engine.Release(e.ctx, driver.Release{Hold: hold(r), Keep: e.short})
}

// kept releases what the owner holds with a short Keep.
func (e *env) kept(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := e.keep(engine, r); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
}

func keepLeavesItTaken(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	start := driver.Now()
	e.kept(a, r)
	e.lastsFrom(start, e.short, b)
}

func keepBeyondTheLease(e *env) {
	a, b := e.open(), e.open()
	r := e.briefly(e.lock("name"))
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: hold(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.lapse()
	e.refused(b, e.lock("name"))
}

func keepShorterThanTheLease(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	g := e.take(a, r)
	e.kept(a, r)
	e.lapse()
	if next := e.take(b, e.lock("name")); next.Token <= g.Token {
		e.Errorf("token %d follows %d", next.Token, g.Token)
	}
}

func keepEndsThePossession(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: hold(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.lost(a, r)
	e.forgotten(a, r) // which does not cut the time short
	e.refused(a, r)
}

func keepThenTheNextWaiter(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	start := driver.Now()
	e.kept(a, r)
	if driver.Now().Since(start) < e.short/2 {
		w.waits()
	}
	e.lapse()
	w.granted()
	e.refused(a, e.lock("name"))
}

func keepByAnother(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	if err := e.keep(b, e.lock("name")); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release with Keep by one who does not hold: %v, want ErrNotHeld", err)
	}
	if err := e.keep(b, e.lock("other name")); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release with Keep of a free name: %v, want ErrNotHeld", err)
	}
	e.free(b, e.lock("other name"))
	e.lapse()
	e.renewed(a, r, e.long)
}

func keepOfPermits(e *env) {
	e.needs(e.can.Semaphores, "semaphores")
	a, b := e.open(), e.open()
	r := e.permits("long", 3, 2)
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: hold(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.refused(b, e.permits("long", 3, 2))
	e.take(b, e.permits("long", 3, 1))

	r = e.permits("short", 3, 2)
	e.take(a, r)
	e.kept(a, r)
	e.lapse()
	e.take(b, e.permits("short", 3, 3))
}

func keepByAReader(e *env) {
	e.needs(e.can.Shared, "shared mode")
	a, b := e.open(), e.open()
	r := e.reader("long")
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: hold(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by a reader: %v", err)
	}
	e.take(b, e.reader("long"))
	e.refused(b, e.lock("long"))

	r = e.reader("short")
	e.take(a, r)
	e.kept(a, r)
	e.lapse()
	e.take(b, e.lock("short"))
}
