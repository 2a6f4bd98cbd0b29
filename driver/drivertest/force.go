package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var force = []check{
	{"ForceReleaseFrees", forceReleaseFrees},
	{"ForceReleaseLetsTheNextIn", forceReleaseLetsTheNextIn},
	{"ForceReleaseNeedsTheToken", forceReleaseNeedsTheToken},
	{"ForceReleaseOfOnePermit", forceReleaseOfOnePermit},
	{"ForceReleaseOfOneReader", forceReleaseOfOneReader},
	{"ForceReleaseOfAKeptLock", forceReleaseOfAKeptLock},
}

// forcer opens an engine that can release by force.
func (e *env) forcer() driver.Operator {
	e.Helper()
	return e.operator("forced release", func(o driver.Operator) error {
		return o.ForceRelease(e.ctx, driver.Key{Kind: driver.Lock, Name: e.prefix}, 1)
	})
}

func (e *env) mustForce(f driver.Operator, k driver.Key, token uint64) {
	e.Helper()
	if err := f.ForceRelease(e.ctx, k, token); err != nil {
		e.Fatalf("ForceRelease of the holder with token %d: %v", token, err)
	}
}

func (e *env) mustNotForce(f driver.Operator, k driver.Key, token uint64) {
	e.Helper()
	if err := f.ForceRelease(e.ctx, k, token); !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("ForceRelease with a token %d that nobody has: %v, want ErrNotHeld", token, err)
	}
}

func forceReleaseFrees(e *env) {
	f, a, b := e.forcer(), e.open(), e.open()
	r := e.lock("name")
	g := e.take(a, r)
	e.mustForce(f, r.Key, g.Token)
	e.checkLost(a, r)
	e.checkNotHeld(a, r)
	next := e.lock("name")
	if n := e.take(b, next); n.Token <= g.Token {
		e.Errorf("token %d follows %d", n.Token, g.Token)
	}
	e.checkNotHeld(a, r)
	e.mustRenew(b, next, e.long)
}

func forceReleaseLetsTheNextIn(e *env) {
	f, a, b := e.forcer(), e.open(), e.open()
	r := e.lock("name")
	g := e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.mustForce(f, r.Key, g.Token)
	if n := w.mustBeGranted(); n.Token <= g.Token {
		e.Errorf("token %d follows %d", n.Token, g.Token)
	}
	e.mustNotForce(f, r.Key, g.Token)
	e.mustRenew(b, w.request, e.long)
}

func forceReleaseNeedsTheToken(e *env) {
	f, a, b := e.forcer(), e.open(), e.open()
	r := e.lock("name")
	e.mustNotForce(f, r.Key, 1)
	old := e.take(a, r)
	e.release(a, r)
	g := e.take(a, r)
	e.mustNotForce(f, r.Key, old.Token)
	e.mustNotForce(f, r.Key, g.Token+1000)
	e.mustNotForce(f, r.Key, 0)
	e.mustNotForce(f, e.lock("other name").Key, g.Token)
	e.mustBeRefused(b, e.lock("name"))
	e.mustRenew(a, r, e.long)
}

func forceReleaseOfOnePermit(e *env) {
	e.needsSemaphores()
	f, a, b := e.forcer(), e.open(), e.open()
	first, second := e.permits("name", 3, 2), e.permits("name", 3, 1)
	g := e.take(a, first)
	e.take(a, second)
	e.mustForce(f, first.Key, g.Token)
	e.checkLost(a, first)
	e.mustRenew(a, second, e.long)
	e.take(b, e.permits("name", 3, 2))
	e.mustBeRefused(b, e.permits("name", 3, 1))
}

func forceReleaseOfOneReader(e *env) {
	e.needsShared()
	f, a, b := e.forcer(), e.open(), e.open()
	first, second := e.reader("name"), e.reader("name")
	g := e.take(a, first)
	e.take(b, second)
	e.mustForce(f, first.Key, g.Token)
	e.checkLost(a, first)
	e.mustRenew(b, second, e.long)
	e.mustBeRefused(a, e.lock("name"))
	e.release(b, second)
	e.take(a, e.lock("name"))
}

func forceReleaseOfAKeptLock(e *env) {
	f, a, b := e.forcer(), e.open(), e.open()
	r := e.lock("name")
	g := e.take(a, r)
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r), Keep: e.long}); err != nil {
		e.Fatalf("Release with Keep by the holder: %v", err)
	}
	e.mustForce(f, r.Key, g.Token)
	e.take(b, e.lock("name"))
}
