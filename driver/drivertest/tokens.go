package drivertest

import (
	"errors"

	"github.com/leasehold-go/leasehold/driver"
)

var tokens = []check{
	{"GrowOverRelease", growOverRelease},
	{"GrowOverHandOver", growOverHandOver},
	{"GrowOverExpiry", growOverExpiry},
	{"GrowForOneOwner", growForOneOwner},
	{"GrowOverReopening", growOverReopening},
	{"GrowOverCrash", growOverCrash},
	{"RangesDoNotOverlap", rangesDoNotOverlap},
	{"RangesOfWaiters", rangesOfWaiters},
}

// tokenOrder checks that tokens grow.
type tokenOrder struct {
	*env
	last uint64
}

func (o *tokenOrder) check(g driver.Grant) {
	o.Helper()
	if g.Token <= o.last {
		o.Errorf("token %d follows %d", g.Token, o.last)
	}
	o.last = g.Token + uint64(max(1, g.Tokens)) - 1
}

func growOverRelease(e *env) {
	engines := []driver.Engine{e.open(), e.open()}
	o := tokenOrder{env: e}
	for i := range 20 {
		r := e.lock("name")
		o.check(e.take(engines[i%2], r))
		e.release(engines[i%2], r)
	}
}

func growOverHandOver(e *env) {
	engines := []driver.Engine{e.open(), e.open()}
	o := tokenOrder{env: e}
	r := e.lock("name")
	o.check(e.take(engines[0], r))
	for i := range 10 {
		w := e.join(engines[i%2], e.lock("name"))
		e.release(engines[i%2], r)
		o.check(w.mustBeGranted())
		r = w.request
	}
}

func growOverExpiry(e *env) {
	a, b := e.open(), e.open()
	o := tokenOrder{env: e}
	for range 2 {
		o.check(e.take(a, e.withShortTTL(e.lock("name"))))
		e.expireShortLeases()
		o.check(e.take(b, e.withShortTTL(e.lock("name"))))
		e.expireShortLeases()
	}
}

// An owner that asks again after its lease has ended is a new holder: others may have held
// meanwhile.
func growForOneOwner(e *env) {
	a := e.open()
	o := tokenOrder{env: e}
	r := e.withShortTTL(e.lock("name"))
	o.check(e.take(a, r))
	e.expireShortLeases()
	o.check(e.take(a, r))
	r = e.lock("other name")
	o = tokenOrder{env: e}
	o.check(e.take(a, r))
	e.release(a, r)
	o.check(e.take(a, r))
}

func growOverReopening(e *env) {
	o := tokenOrder{env: e}
	for range 5 {
		r := e.lock("name")
		engine := e.open()
		o.check(e.take(engine, r))
		e.release(engine, r)
	}
}

func growOverCrash(e *env) {
	e.needs(e.environment.Restart != nil, "life after its process")
	o, idle := tokenOrder{env: e}, tokenOrder{env: e}
	for range 3 {
		engine := e.open()
		var g driver.Grant
		e.eventually("the lock of the crashed holder is free", func() bool {
			var err error
			g, err = engine.Take(e.ctx, e.withShortTTL(e.lock("held at the crash")))
			if err != nil && !errors.Is(err, driver.ErrHeld) {
				e.Fatalf("Take after a crash: %v", err)
			}
			return err == nil
		})
		o.check(g)
		r := e.lock("free at the crash")
		idle.check(e.take(engine, r))
		e.release(engine, r)
		e.environment.Restart(e.T)
		if e.environment.Advance != nil {
			e.expireShortLeases()
		}
	}
}

func rangesDoNotOverlap(e *env) {
	engines := []driver.Engine{e.open(), e.open()}
	o := tokenOrder{env: e}
	for i, n := range []int{1, 16, 2, 64, 1, 1} {
		r := e.lock("name")
		r.Tokens = n
		o.check(e.take(engines[i%2], r))
		e.release(engines[i%2], r)
	}
}

func rangesOfWaiters(e *env) {
	a, b := e.open(), e.open()
	o := tokenOrder{env: e}
	r := e.lock("name")
	r.Tokens = 8
	o.check(e.take(a, r))
	queued := e.lock("name")
	queued.Tokens = 8
	w := e.join(b, queued)
	e.release(a, r)
	o.check(w.mustBeGranted())
	e.release(b, queued)
	o.check(e.take(a, e.lock("name")))
}
