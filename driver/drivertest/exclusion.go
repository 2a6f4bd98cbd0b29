package drivertest

import (
	"context"
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var exclusion = []check{
	{"OneHolderAtATime", oneHolderAtATime},
	{"OwnersOfOneEngineExcludeEachOther", ownersOfOneEngine},
	{"TakeAgainAnswersTheSame", takeAgainAnswersTheSame},
	{"TakeAgainExtends", takeAgainExtends},
	{"KindsAreApart", kindsAreApart},
	{"EndedContext", endedContext},
	{"OpeningAnotherEngineChangesNothing", openingAnotherEngine},
}

func oneHolderAtATime(e *env) {
	a, b := e.open(), e.open()
	first, second := e.lock("name"), e.lock("name")
	e.take(a, first)
	e.mustBeRefused(b, second)
	e.mustBeRefused(b, second) // a repeated request changes nothing
	e.release(a, first)
	e.take(b, second)
	e.mustBeRefused(a, first)
	e.release(b, second)
}

func ownersOfOneEngine(e *env) {
	a := e.open()
	e.take(a, e.lock("name"))
	e.mustBeRefused(a, e.lock("name"))
	e.take(a, e.lock("other name"))
}

func takeAgainAnswersTheSame(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	r.Tokens = 4
	first := e.take(a, r)
	again := e.take(a, r)
	if again.Token != first.Token || max(1, again.Tokens) != max(1, first.Tokens) {
		e.Errorf("the second Take of one owner answered tokens %d+%d, want those of the first, %d+%d",
			again.Token, again.Tokens, first.Token, first.Tokens)
	}
	e.mustBeRefused(b, e.lock("name"))
	e.release(a, r) // one release is enough, however often it was taken
	e.checkFree(b, r)
}

func takeAgainExtends(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, e.withShortTTL(r))
	e.take(a, r)
	e.expireShortLeases()
	e.mustBeRefused(b, e.lock("name"))
}

func kindsAreApart(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	if e.can.Semaphores {
		p := e.permits("name", 1, 1)
		e.take(a, p)
		e.mustBeRefused(a, e.permits("name", 1, 1))
		e.release(a, p)
	}
	if e.hasLatches {
		l := a.(driver.Latcher)
		set, err := l.TrySet(e.ctx, driver.LatchSet{Name: r.Name, ID: r.Owner, Count: 1, TTL: e.long})
		if !set || err != nil {
			e.Errorf("TrySet of a latch that has the name of a lock: %v, %v", set, err)
		}
	}
	e.mustBeRefused(a, e.lock("name"))
	e.release(a, r)
}

func endedContext(e *env) {
	a, b := e.open(), e.open()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	r := e.lock("name")
	_, err := a.Take(ctx, r)
	switch {
	case err == nil:
	case driver.IsNo(err):
		e.Errorf("Take of a free name with an ended context says no: %v", err)
	case driver.HadNoEffect(err):
		e.checkFree(b, r)
	}
	// Whatever the outcome was, a Release cleans up.
	if err := a.Release(e.ctx, driver.Release{Hold: holdOf(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release after an unknown Take: %v", err)
	}
	e.checkFree(b, r)
}

func openingAnotherEngine(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	b := e.open()
	e.mustBeRefused(b, e.lock("name"))
	e.mustRenew(a, r, e.long)
	e.release(a, r)
}
