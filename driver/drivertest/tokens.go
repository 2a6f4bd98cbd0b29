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

// order checks that tokens grow.
type order struct {
	*env
	last uint64
}

func (o *order) next(g driver.Grant) {
	o.Helper()
	if g.Token <= o.last {
		o.Errorf("token %d follows %d", g.Token, o.last)
	}
	o.last = g.Token + uint64(max(1, g.Tokens)) - 1
}

func growOverRelease(e *env) {
	engines := []driver.Engine{e.open(), e.open()}
	o := order{env: e}
	for i := range 20 {
		r := e.lock("name")
		o.next(e.take(engines[i%2], r))
		e.release(engines[i%2], r)
	}
}

func growOverHandOver(e *env) {
	engines := []driver.Engine{e.open(), e.open()}
	o := order{env: e}
	r := e.lock("name")
	o.next(e.take(engines[0], r))
	for i := range 10 {
		w := e.join(engines[i%2], e.lock("name"))
		e.release(engines[i%2], r)
		o.next(w.granted())
		r = w.request
	}
}

func growOverExpiry(e *env) {
	a, b := e.open(), e.open()
	o := order{env: e}
	for range 2 {
		o.next(e.take(a, e.briefly(e.lock("name"))))
		e.lapse()
		o.next(e.take(b, e.briefly(e.lock("name"))))
		e.lapse()
	}
}

// An owner that comes again after its lease has ended is a new holder: others
// may have been there meanwhile.
func growForOneOwner(e *env) {
	a := e.open()
	o := order{env: e}
	r := e.briefly(e.lock("name"))
	o.next(e.take(a, r))
	e.lapse()
	o.next(e.take(a, r))
	r = e.lock("other name")
	o = order{env: e}
	o.next(e.take(a, r))
	e.release(a, r)
	o.next(e.take(a, r))
}

func growOverReopening(e *env) {
	o := order{env: e}
	for range 5 {
		r := e.lock("name")
		engine := e.open()
		o.next(e.take(engine, r))
		e.release(engine, r)
	}
}

func growOverCrash(e *env) {
	e.needs(e.place.Restart != nil, "life after its process")
	o, idle := order{env: e}, order{env: e}
	for range 3 {
		engine := e.open()
		var g driver.Grant
		e.eventually("the lock of one that crashed is free", func() bool {
			var err error
			g, err = engine.Take(e.ctx, e.briefly(e.lock("held at the crash")))
			if err != nil && !errors.Is(err, driver.ErrHeld) {
				e.Fatalf("Take after a crash: %v", err)
			}
			return err == nil
		})
		o.next(g)
		r := e.lock("free at the crash")
		idle.next(e.take(engine, r))
		e.release(engine, r)
		e.place.Restart(e.T)
		if e.place.Advance != nil {
			e.lapse()
		}
	}
}

func rangesDoNotOverlap(e *env) {
	engines := []driver.Engine{e.open(), e.open()}
	o := order{env: e}
	for i, n := range []int{1, 16, 2, 64, 1, 1} {
		r := e.lock("name")
		r.Tokens = n
		o.next(e.take(engines[i%2], r))
		e.release(engines[i%2], r)
	}
}

func rangesOfWaiters(e *env) {
	a, b := e.open(), e.open()
	o := order{env: e}
	r := e.lock("name")
	r.Tokens = 8
	o.next(e.take(a, r))
	queued := e.lock("name")
	queued.Tokens = 8
	w := e.join(b, queued)
	e.release(a, r)
	o.next(w.granted())
	e.release(b, queued)
	o.next(e.take(a, e.lock("name")))
}
