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
	e.refused(b, second)
	e.refused(b, second) // asking does not wear it down
	e.release(a, first)
	e.take(b, second)
	e.refused(a, first)
	e.release(b, second)
}

func ownersOfOneEngine(e *env) {
	a := e.open()
	e.take(a, e.lock("name"))
	e.refused(a, e.lock("name"))
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
	e.refused(b, e.lock("name"))
	e.release(a, r) // once, however often it was taken
	e.free(b, r)
}

func takeAgainExtends(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, e.briefly(r))
	e.take(a, r)
	e.lapse()
	e.refused(b, e.lock("name"))
}

func kindsAreApart(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	if e.can.Semaphores {
		p := e.permits("name", 1, 1)
		e.take(a, p)
		e.refused(a, e.permits("name", 1, 1))
		e.release(a, p)
	}
	if e.can.Latches {
		l := a.(driver.Latcher)
		if set, err := l.TrySet(e.ctx, driver.LatchSet{Name: r.Name, ID: r.Owner, Count: 1, TTL: e.long}); !set || err != nil {
			e.Errorf("TrySet of a latch that has the name of a lock: %v, %v", set, err)
		}
	}
	e.refused(a, e.lock("name"))
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
		e.free(b, r)
	}
	// Whatever came of it, a Release puts it right.
	if err := a.Release(e.ctx, driver.Release{Hold: hold(r)}); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("Release after an unknown Take: %v", err)
	}
	e.free(b, r)
}

func openingAnotherEngine(e *env) {
	a := e.open()
	r := e.lock("name")
	e.take(a, r)
	b := e.open()
	e.refused(b, e.lock("name"))
	e.renewed(a, r, e.long)
	e.release(a, r)
}
