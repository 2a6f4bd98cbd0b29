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
	e.checkNotHeld(a, r)
	e.checkNotHeld(b, r)
	e.checkNotHeld(a, e.lock("never taken"))
	e.checkFree(b, r)
}

func releaseByAnother(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.checkNotHeld(b, e.lock("name"))
	e.mustBeRefused(b, e.lock("name"))
	e.mustRenew(a, r, e.long)
}

func lateRelease(e *env) {
	a, b := e.open(), e.open()
	old := e.withShortTTL(e.lock("name"))
	g := e.take(a, old)
	e.expireShortLeases()
	next := e.lock("name")
	e.take(b, next)

	e.checkNotHeld(a, old)
	withToken := holdOf(old)
	withToken.Token = g.Token
	if err := a.Release(e.ctx, driver.Release{Hold: withToken}); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("late Release with the token: %v, want ErrNotHeld", err)
	}
	if err := e.releaseKeeping(a, old); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("late Release with Keep: %v, want ErrNotHeld", err)
	}
	e.expireShortLeases()
	e.mustBeRefused(a, e.lock("name"))
	e.mustRenew(b, next, e.long)
	e.release(b, next)
}

// releaseKeeping releases with a short Keep.
func (e *env) releaseKeeping(engine driver.Engine, r driver.Request) error {
	return engine.Release(e.ctx, driver.Release{Hold: holdOf(r), Keep: e.short})
}

// mustKeep releases a hold with a short Keep.
func (e *env) mustKeep(engine driver.Engine, r driver.Request) {
	e.Helper()
	if err := e.releaseKeeping(engine, r); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
}

func keepLeavesItTaken(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	start := driver.Now()
	e.mustKeep(a, r)
	e.lastsFrom(start, e.short, b)
}

func keepBeyondTheLease(e *env) {
	a, b := e.open(), e.open()
	r := e.withShortTTL(e.lock("name"))
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.expireShortLeases()
	e.mustBeRefused(b, e.lock("name"))
}

func keepShorterThanTheLease(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	g := e.take(a, r)
	e.mustKeep(a, r)
	e.expireShortLeases()
	if next := e.take(b, e.lock("name")); next.Token <= g.Token {
		e.Errorf("token %d follows %d", next.Token, g.Token)
	}
}

func keepEndsThePossession(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.checkLost(a, r)
	e.checkNotHeld(a, r) // does not cut the time short
	e.mustBeRefused(a, r)
}

func keepThenTheNextWaiter(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	start := driver.Now()
	e.mustKeep(a, r)
	if driver.Now().Since(start) < e.short/2 {
		w.checkWaiting()
	}
	e.expireShortLeases()
	w.mustBeGranted()
	e.mustBeRefused(a, e.lock("name"))
}

func keepByAnother(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	if err := e.releaseKeeping(b, e.lock("name")); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release with Keep by an owner that does not hold: %v, want ErrNotHeld", err)
	}
	if err := e.releaseKeeping(b, e.lock("other name")); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release with Keep of a free name: %v, want ErrNotHeld", err)
	}
	e.checkFree(b, e.lock("other name"))
	e.expireShortLeases()
	e.mustRenew(a, r, e.long)
}

func keepOfPermits(e *env) {
	e.needs(e.can.Semaphores, "semaphores")
	a, b := e.open(), e.open()
	r := e.permits("long", 3, 2)
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.mustBeRefused(b, e.permits("long", 3, 2))
	e.take(b, e.permits("long", 3, 1))

	r = e.permits("short", 3, 2)
	e.take(a, r)
	e.mustKeep(a, r)
	e.expireShortLeases()
	e.take(b, e.permits("short", 3, 3))
}

func keepByAReader(e *env) {
	e.needs(e.can.Shared, "shared mode")
	a, b := e.open(), e.open()
	r := e.reader("long")
	e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by a reader: %v", err)
	}
	e.take(b, e.reader("long"))
	e.mustBeRefused(b, e.lock("long"))

	r = e.reader("short")
	e.take(a, r)
	e.mustKeep(a, r)
	e.expireShortLeases()
	e.take(b, e.lock("short"))
}
