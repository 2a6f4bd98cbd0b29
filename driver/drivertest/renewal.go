package drivertest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/leasehold-go/leasehold/driver"
)

var renewal = []check{
	{"RenewKeepsTheLease", renewKeepsTheLease},
	{"RenewByAnotherChangesNothing", renewByAnother},
	{"RenewByAWaiter", renewByAWaiter},
	{"RenewWithAndWithoutToken", renewWithAndWithoutToken},
	{"RenewNeverShortens", renewNeverShortens},
	{"PartOfABatchFails", partOfABatchFails},
	{"FullBatch", fullBatch},
	{"EmptyBatch", emptyBatch},
	{"BatchIsNotKept", batchIsNotKept},
}

// renewAll renews a batch, and returns the reported outcome of each item.
func (e *env) renewAll(engine driver.Engine, batch []driver.Renewal) []error {
	e.Helper()
	never := errors.New("never reported")
	var mu sync.Mutex
	outcome := make([]error, len(batch))
	for i := range outcome {
		outcome[i] = never
	}
	returned := false
	engine.Renew(e.ctx, batch, func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case returned:
			e.Errorf("item %d reported after Renew returned", i)
		case i < 0 || i >= len(outcome):
			e.Errorf("item %d of %d reported", i, len(outcome))
		case !errors.Is(outcome[i], never):
			e.Errorf("item %d reported twice", i)
		default:
			outcome[i] = err
		}
	})
	mu.Lock()
	defer mu.Unlock()
	returned = true
	return outcome
}

// A renewal that arrives late must not undo a later one.
func renewNeverShortens(e *env) {
	a, b := e.open(), e.open()
	renewed, retaken := e.lock("renewed"), e.lock("retaken")
	e.take(a, renewed)
	e.take(a, retaken)
	e.mustRenew(a, renewed, e.short)
	e.take(a, e.withShortTTL(retaken))
	e.expireShortLeases()
	e.mustBeRefused(b, e.lock("renewed"))
	e.mustBeRefused(b, e.lock("retaken"))
}

func renewKeepsTheLease(e *env) {
	a, b := e.open(), e.open()
	r := e.withShortTTL(e.lock("name"))
	e.take(a, r)
	e.mustRenew(a, r, e.long)
	e.expireShortLeases()
	e.mustBeRefused(b, e.lock("name"))
	e.mustRenew(a, r, e.long)
}

func renewByAnother(e *env) {
	a, b := e.open(), e.open()
	e.take(a, e.withShortTTL(e.lock("name")))
	e.checkLost(b, e.lock("name"))
	e.expireShortLeases()
	e.take(b, e.lock("name"))
}

func renewByAWaiter(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.checkLost(b, w.request)
	w.checkWaiting()
	e.release(a, r)
	w.mustBeGranted()
	e.mustRenew(b, w.request, e.long)
}

func renewWithAndWithoutToken(e *env) {
	a := e.open()
	r := e.lock("name")
	g := e.take(a, r)
	with := holdOf(r)
	with.Token = g.Token
	for i, err := range e.renewAll(a, []driver.Renewal{{Hold: holdOf(r), TTL: e.long}, {Hold: with, TTL: e.long}}) {
		if err != nil {
			e.Errorf("renewal %d: %v", i, err)
		}
	}
	if err := a.Release(e.ctx, driver.Release{Hold: with}); err != nil {
		e.Errorf("Release with the token: %v", err)
	}
}

func partOfABatchFails(e *env) {
	a, b := e.open(), e.open()
	var batch []driver.Renewal
	var want []error
	add := func(r driver.Request, outcome error) {
		batch = append(batch, driver.Renewal{Hold: holdOf(r), TTL: e.long})
		want = append(want, outcome)
	}
	for i := range 5 {
		held := e.lock(fmt.Sprintf("held %d", i))
		e.take(a, held)
		add(held, nil)

		others := e.lock(fmt.Sprintf("of another %d", i))
		e.take(b, e.lock(fmt.Sprintf("of another %d", i)))
		add(others, driver.ErrNotHeld)

		add(e.lock(fmt.Sprintf("never taken %d", i)), driver.ErrNotHeld)

		released := e.lock(fmt.Sprintf("released %d", i))
		e.take(a, released)
		e.release(a, released)
		add(released, driver.ErrNotHeld)

		if e.can.Semaphores {
			p := e.permits("permits", 5, 1)
			e.take(a, p)
			add(p, nil)
		}
		if e.can.Shared {
			r := e.reader("readers")
			e.take(a, r)
			add(r, nil)
		}
	}
	for i, err := range e.renewAll(a, batch) {
		if !errors.Is(err, want[i]) {
			e.Errorf("%q: %v, want %v", batch[i].Name, err, want[i])
		}
	}
}

func fullBatch(e *env) {
	a := e.open()
	size := e.can.MaxBatch
	if size == 0 {
		size = 512
	}
	batch := make([]driver.Renewal, size)
	for i := range batch {
		r := e.lock(fmt.Sprintf("name %d", i))
		e.take(a, r)
		batch[i] = driver.Renewal{Hold: holdOf(r), TTL: e.long}
	}
	for i, err := range e.renewAll(a, batch) {
		if err != nil {
			e.Fatalf("item %d of %d: %v", i, size, err)
		}
	}
}

func emptyBatch(e *env) {
	e.open().Renew(e.ctx, nil, func(i int, err error) {
		e.Errorf("item %d of an empty batch reported: %v", i, err)
	})
}

// The core reuses the memory of a batch at once.
func batchIsNotKept(e *env) {
	a := e.open()
	first, second := e.lock("first"), e.lock("second")
	e.take(a, first)
	e.take(a, second)
	batch := make([]driver.Renewal, 1)
	for range 10 {
		for _, r := range []driver.Request{first, second} {
			batch[0] = driver.Renewal{Hold: holdOf(r), TTL: e.long}
			a.Renew(e.ctx, batch, func(_ int, err error) {
				if err != nil {
					e.Errorf("%q: %v", r.Name, err)
				}
			})
		}
	}
}
