package drivertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

var stress = []check{
	{"ManyOwnersOfOneName", manyOwnersOfOneName},
	{"ManyOwnersWhoGiveUp", manyOwnersWhoGiveUp},
	{"ReadersAndWriters", readersAndWriters},
	{"ManyPermits", manyPermits},
	{"ManyOwnersTakeAtOnce", manyOwnersTakeAtOnce},
	{"ManyOwnersOfManyNames", manyOwnersOfManyNames},
}

const (
	stressOwners  = 16
	stressTurns   = 12
	stressEngines = 4
)

// runManyOwners runs f for each of many owners, each in its own goroutine, spread over several
// engines.
func (e *env) runManyOwners(f func(owner int, engine driver.Engine)) {
	e.Helper()
	e.runOwners(e.openSeveral(), f)
}

// openSeveral opens several engines.
func (e *env) openSeveral() []driver.Engine {
	e.Helper()
	engines := make([]driver.Engine, stressEngines)
	for i := range engines {
		engines[i] = e.open()
	}
	return engines
}

// runOwners is runManyOwners over engines that are open.
func (e *env) runOwners(engines []driver.Engine, f func(owner int, engine driver.Engine)) {
	var owners sync.WaitGroup
	for i := range stressOwners {
		owners.Go(func() { f(i, engines[i%len(engines)]) })
	}
	owners.Wait()
}

// takeTurn waits for the grant of the request, calls inside, and releases it. Like the core, it
// begins with a Take.
func (e *env) takeTurn(engine driver.Engine, r driver.Request, inside func(driver.Grant)) bool {
	r.Join = true
	g, err := engine.Take(e.ctx, r)
	if errors.Is(err, driver.ErrHeld) {
		g, err = engine.Wait(e.ctx, r)
	}
	if err != nil {
		e.Errorf("waiting for a %s: %v", r.Kind, err)
		return false
	}
	inside(g)
	r.Owner = cmp.Or(g.Owner, r.Owner)
	if err := engine.Release(e.ctx, driver.Release{Hold: holdOf(r)}); err != nil {
		e.Errorf("Release by the holder: %v", err)
		return false
	}
	return true
}

// overlapChecker checks that there is one holder at a time, and that tokens grow.
type overlapChecker struct {
	*env
	inside atomic.Int64
	last   atomic.Uint64
}

func (a *overlapChecker) check(g driver.Grant) {
	if n := a.inside.Add(1); n != 1 {
		a.Errorf("%d hold at the same time", n)
	}
	if last := a.last.Swap(g.Token + uint64(max(1, g.Tokens)) - 1); g.Token <= last {
		a.Errorf("token %d follows %d", g.Token, last)
	}
	a.inside.Add(-1)
}

func manyOwnersOfOneName(e *env) {
	one := overlapChecker{env: e}
	e.runManyOwners(func(_ int, engine driver.Engine) {
		for turn := range stressTurns {
			r := e.lock("name")
			r.Tokens = 1 + turn%3
			if !e.takeTurn(engine, r, one.check) {
				return
			}
		}
	})
	e.checkNothingListed(e.open())
}

func manyOwnersWhoGiveUp(e *env) {
	one := overlapChecker{env: e}
	e.runManyOwners(func(owner int, engine driver.Engine) {
		for range stressTurns {
			r := e.lock("name")
			if owner%2 == 0 {
				if !e.takeTurn(engine, r, one.check) {
					return
				}
				continue
			}
			r.Join = true
			g, err := engine.Take(e.ctx, r)
			if err == nil || errors.Is(err, driver.ErrHeld) {
				r.Owner = cmp.Or(g.Owner, r.Owner)
				err = engine.Release(e.ctx, driver.Release{Hold: holdOf(r)})
			}
			if err != nil && !errors.Is(err, driver.ErrNotHeld) {
				e.Errorf("giving up: %v", err)
				return
			}
		}
	})
	e.checkNothingListed(e.open())
}

func readersAndWriters(e *env) {
	e.needsShared()
	one := overlapChecker{env: e}
	var readers atomic.Int64
	e.runManyOwners(func(owner int, engine driver.Engine) {
		for range stressTurns {
			ok := false
			if owner%4 == 0 {
				ok = e.takeTurn(engine, e.lock("name"), func(g driver.Grant) {
					if n := readers.Load(); n != 0 {
						e.Errorf("a writer is inside with %d readers", n)
					}
					one.check(g)
				})
			} else {
				ok = e.takeTurn(engine, e.reader("name"), func(driver.Grant) {
					readers.Add(1)
					if n := one.inside.Load(); n != 0 {
						e.Errorf("a reader is inside with %d writers", n)
					}
					readers.Add(-1)
				})
			}
			if !ok {
				return
			}
		}
	})
	e.checkNothingListed(e.open())
}

func manyPermits(e *env) {
	e.needsSemaphores()
	const size = 5
	var used atomic.Int64
	e.runManyOwners(func(owner int, engine driver.Engine) {
		weight := 1 + owner%size
		for range stressTurns {
			ok := e.takeTurn(engine, e.permits("name", size, weight), func(driver.Grant) {
				if n := used.Add(int64(weight)); n > size {
					e.Errorf("%d permits of %d are in use", n, size)
				}
				used.Add(int64(-weight))
			})
			if !ok {
				return
			}
		}
	})
	e.checkNothingListed(e.open())
}

func manyOwnersTakeAtOnce(e *env) {
	engines := e.openSeveral()
	for range 10 {
		r := e.lock("name")
		var winners atomic.Int64
		winner := make(chan driver.Request, stressOwners)
		e.runOwners(engines, func(_ int, engine driver.Engine) {
			r := r
			r.Owner = e.lock("").Owner
			_, err := engine.Take(e.ctx, r)
			switch {
			case err == nil:
				winners.Add(1)
				winner <- r
			case !errors.Is(err, driver.ErrHeld):
				e.Errorf("Take: %v", err)
			}
		})
		if n := winners.Load(); n != 1 {
			e.Fatalf("%d of %d took a free lock, want one", n, stressOwners)
		}
		e.release(engines[0], <-winner)
	}
}

// Owners of one name and owners of several names exclude each other.
func manyOwnersOfManyNames(e *env) {
	e.taker()
	const names = 4
	var inside [names]overlapChecker
	for i := range inside {
		inside[i].env = e
	}
	e.runManyOwners(func(owner int, engine driver.Engine) {
		for turn := range stressTurns {
			if owner%2 == 0 {
				i := (owner + turn) % names
				if !e.takeTurn(engine, e.locks(fmt.Sprint(i))[0], inside[i].check) {
					return
				}
				continue
			}
			batch := e.locks("0", "1", "2", "3")
			skip := (owner/2 + turn) % names
			batch = slices.Delete(batch, skip, skip+1)
			grants, err := engine.(driver.AllTaker).TakeAll(e.ctx, batch)
			if errors.Is(err, driver.ErrHeld) {
				continue
			}
			if err != nil {
				e.Errorf("TakeAll: %v", err)
				return
			}
			for i, g := range grants {
				at := i
				if i >= skip {
					at++
				}
				inside[at].check(g)
				if err := engine.Release(e.ctx, driver.Release{Hold: holdOf(batch[i])}); err != nil {
					e.Errorf("Release by the holder: %v", err)
					return
				}
			}
		}
	})
	e.checkNothingListed(e.open())
}
