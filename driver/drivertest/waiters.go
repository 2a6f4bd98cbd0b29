package drivertest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// An owner that would be one too many in a queue is turned away, and nobody else is.
var waiters = []check{
	{"NoMoreThanTheLimit", noMoreThanTheLimit},
	{"NoMoreThanTheLimitAtOnce", noMoreThanTheLimitAtOnce},
	{"WaiterKeepsItsPlace", waiterKeepsItsPlace},
	{"RoomWhenOneHasGone", roomWhenOneHasGone},
	{"TurnedAwayLeavesNothing", turnedAwayLeavesNothing},
	{"FreeNameIsGranted", freeNameIsGranted},
	{"WaitIsNeverTurnedAway", waitIsNeverTurnedAway},
	{"AllKindsOfWaitersCount", allKindsOfWaitersCount},
}

// joinWithLimit returns a request to join the queue of a lock with a limit of waiters, by a new
// owner.
func (e *env) joinWithLimit(name string, limit int) driver.Request {
	r := e.lock(name)
	r.Join, r.MaxWaiters = true, limit
	return r
}

// mustBeTurnedAway asks for a held name whose queue must be full.
func (e *env) mustBeTurnedAway(engine driver.Engine, r driver.Request) {
	e.Helper()
	switch g, err := engine.Take(e.ctx, r); {
	case !errors.Is(err, driver.ErrTooManyWaiters):
		e.Fatalf("Take with Join, when no more than %d may wait, answered token %d, %v; want ErrTooManyWaiters",
			r.MaxWaiters, g.Token, err)
	case !driver.HadNoEffect(err) || !driver.IsPermanent(err) || errors.Is(err, driver.ErrHeld):
		e.Errorf("%v must not be an ErrHeld, and must be marked with Permanent", err)
	}
}

// countWaiters returns how many waiters a listing shows.
func (e *env) countWaiters(engine driver.Engine, k driver.Key) int {
	e.Helper()
	found, err := engine.List(e.ctx, driver.Query{Kind: k.Kind, Name: k.Name})
	if err != nil {
		e.Fatalf("List: %v", err)
	}
	if len(found) == 0 {
		return 0
	}
	return found[0].Waiting
}

func (e *env) checkWaiters(engine driver.Engine, k driver.Key, want int) {
	e.Helper()
	if n := e.countWaiters(engine, k); n != want {
		e.Errorf("a listing shows %d waiters, want %d", n, want)
	}
}

func noMoreThanTheLimit(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b, c := e.open(), e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	var inQueue []*waiter
	for _, engine := range []driver.Engine{a, b, c} {
		inQueue = append(inQueue, e.join(engine, e.joinWithLimit("name", 3)))
	}
	e.mustBeTurnedAway(a, e.joinWithLimit("name", 3))
	e.mustBeTurnedAway(b, e.joinWithLimit("name", 2))
	e.mustBeRefused(c, e.lock("name")) // a request without Join does not wait
	e.checkWaiters(b, r.Key, 3)
	inQueue = append(inQueue, e.join(b, e.joinWithLimit("name", 4)), e.join(c, e.joinWithLimit("name", 0)))
	e.checkWaiters(c, r.Key, 5)
	e.release(a, r)
	e.serveAll(inQueue)
	e.checkFree(a, r)
}

// noMoreThanTheLimitAtOnce lets many join at the same moment.
func noMoreThanTheLimitAtOnce(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	const limit, many = 4, 12
	engines := []driver.Engine{e.open(), e.open(), e.open()}
	r := e.lock("name")
	e.take(engines[0], r)
	var joined, away atomic.Int32
	var work sync.WaitGroup
	for i := range many {
		engine := engines[i%len(engines)]
		work.Go(func() {
			one := e.joinWithLimit("name", limit)
			_, err := engine.Take(e.ctx, one)
			for try := 0; try < 10 && !driver.IsNo(err) && driver.HadNoEffect(err); try++ {
				_, err = engine.Take(e.ctx, one) // the engine was busy
			}
			switch {
			case errors.Is(err, driver.ErrHeld):
				e.wait(engine, one)
				joined.Add(1)
			case errors.Is(err, driver.ErrTooManyWaiters):
				away.Add(1)
			default:
				e.Errorf("Take with Join of a held name: %v", err)
			}
		})
	}
	work.Wait()
	if joined.Load() != limit || away.Load() != many-limit {
		e.Errorf("%d wait and %d were turned away, want %d and %d", joined.Load(), away.Load(), limit, many-limit)
	}
	e.checkWaiters(engines[0], r.Key, limit)
}

// serveAll lets all waiters hold, one after the other.
func (e *env) serveAll(inQueue []*waiter) {
	e.Helper()
	for _, w := range inQueue {
		if !e.can.Fair {
			w.cancelAndCheck()
			_ = w.engine.Release(e.ctx, driver.Release{Hold: holdOf(w.request)})
			continue
		}
		w.mustBeGranted()
		e.release(w.engine, w.request)
	}
}

func waiterKeepsItsPlace(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	first, second := e.joinWithLimit("name", 2), e.joinWithLimit("name", 2)
	e.mustBeRefused(b, first)
	e.mustBeRefused(a, second)
	for range 2 { // as a core that has not got the answer does
		e.mustBeRefused(b, first)
		e.mustBeRefused(a, second)
	}
	inQueue := []*waiter{e.wait(b, first), e.wait(a, second)}
	e.checkWaiters(a, r.Key, 2)
	e.release(a, r)
	e.serveAll(inQueue)
}

func roomWhenOneHasGone(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	first := e.join(b, e.joinWithLimit("name", 1))
	e.mustBeTurnedAway(a, e.joinWithLimit("name", 1))
	first.leave()
	second := e.join(a, e.joinWithLimit("name", 1))
	e.mustBeTurnedAway(b, e.joinWithLimit("name", 1))
	e.release(a, r)
	second.mustBeGranted()
	third := e.join(b, e.joinWithLimit("name", 1))
	e.release(second.engine, second.request)
	third.mustBeGranted()
}

func turnedAwayLeavesNothing(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(a, e.joinWithLimit("name", 1))
	away := e.joinWithLimit("name", 1)
	for range 3 {
		e.mustBeTurnedAway(b, away)
	}
	e.checkWaiters(a, r.Key, 1)
	e.checkLost(b, away)
	e.release(a, r)
	w.mustBeGranted()
	e.release(w.engine, w.request)
	e.checkFree(b, r) // so nobody waits
	e.checkNotHeld(b, away)
}

func freeNameIsGranted(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.joinWithLimit("name", 1)
	g := e.take(a, r)
	w := e.join(b, e.joinWithLimit("name", 1))
	if again := e.take(a, r); again.Token != g.Token { // the holder does not wait
		e.Errorf("Take by the holder answered token %d, want %d", again.Token, g.Token)
	}
	e.release(a, r)
	w.mustBeGranted()
}

func waitIsNeverTurnedAway(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.join(a, e.joinWithLimit("name", 1))
	second := e.wait(b, e.joinWithLimit("name", 1)) // as a waiter does that has lost its place
	e.eventually("two wait", func() bool { return e.countWaiters(a, r.Key) == 2 })
	second.checkWaiting()
}

func allKindsOfWaitersCount(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	if e.can.Shared {
		e.take(a, e.lock("lock"))
		reader, another := e.joinWithLimit("lock", 2), e.joinWithLimit("lock", 2)
		reader.Mode, another.Mode = driver.Shared, driver.Shared
		e.join(a, reader)
		e.join(b, e.joinWithLimit("lock", 2))
		e.mustBeTurnedAway(b, another)
	}
	if e.can.Semaphores {
		e.take(a, e.permits("permits", 2, 2))
		one := e.permits("permits", 2, 1)
		one.Join, one.MaxWaiters = true, 1
		e.join(b, one)
		one = e.byNewOwner(one)
		e.mustBeTurnedAway(a, one)
	}
}
