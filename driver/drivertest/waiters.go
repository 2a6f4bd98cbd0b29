package drivertest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// Those who would be one too many in a queue are sent away, and nobody else is.
var waiters = []check{
	{"NoMoreThanTheLimit", noMoreThanTheLimit},
	{"NoMoreThanTheLimitAtOnce", noMoreThanTheLimitAtOnce},
	{"WhoWaitsKeepsThePlace", whoWaitsKeepsThePlace},
	{"RoomWhenOneHasGone", roomWhenOneHasGone},
	{"WhoIsSentAwayLeavesNothing", whoIsSentAwayLeavesNothing},
	{"WhatIsFreeIsGranted", whatIsFreeIsGranted},
	{"WaitIsNeverSentAway", waitIsNeverSentAway},
	{"AllKindsOfWaitersCount", allKindsOfWaitersCount},
}

// among asks for a lock with a limit of waiters, by a new owner who would wait.
func (e *env) among(name string, most int) driver.Request {
	r := e.lock(name)
	r.Join, r.Waiters = true, most
	return r
}

// sentAway asks for what must be held, and waited for by as many as may.
func (e *env) sentAway(engine driver.Engine, r driver.Request) {
	e.Helper()
	switch g, err := engine.Take(e.ctx, r); {
	case !errors.Is(err, driver.ErrCrowded):
		e.Fatalf("Take with Join, where no more than %d may wait, answered token %d, %v; want ErrCrowded",
			r.Waiters, g.Token, err)
	case !driver.HadNoEffect(err) || !driver.IsPermanent(err) || errors.Is(err, driver.ErrHeld):
		e.Errorf("%v must be no ErrHeld, and marked with Permanent", err)
	}
}

// waiting counts those whom a listing shows to wait.
func (e *env) waiting(engine driver.Engine, k driver.Key) int {
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

func (e *env) wantWaiting(engine driver.Engine, k driver.Key, want int) {
	e.Helper()
	if n := e.waiting(engine, k); n != want {
		e.Errorf("a listing shows %d who wait, want %d", n, want)
	}
}

func noMoreThanTheLimit(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b, c := e.open(), e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	var line []*waiter
	for _, engine := range []driver.Engine{a, b, c} {
		line = append(line, e.join(engine, e.among("name", 3)))
	}
	e.sentAway(a, e.among("name", 3))
	e.sentAway(b, e.among("name", 2))
	e.refused(c, e.lock("name")) // a try does not wait
	e.wantWaiting(b, r.Key, 3)
	line = append(line, e.join(b, e.among("name", 4)), e.join(c, e.among("name", 0)))
	e.wantWaiting(c, r.Key, 5)
	e.release(a, r)
	e.serveAll(line)
	e.free(a, r)
}

// noMoreThanTheLimitAtOnce lets many join at the same moment.
func noMoreThanTheLimitAtOnce(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	const most, many = 4, 12
	engines := []driver.Engine{e.open(), e.open(), e.open()}
	r := e.lock("name")
	e.take(engines[0], r)
	var joined, away atomic.Int32
	var work sync.WaitGroup
	for i := range many {
		engine := engines[i%len(engines)]
		work.Go(func() {
			one := e.among("name", most)
			_, err := engine.Take(e.ctx, one)
			for try := 0; try < 10 && !driver.IsNo(err) && driver.HadNoEffect(err); try++ {
				_, err = engine.Take(e.ctx, one) // the engine was busy
			}
			switch {
			case errors.Is(err, driver.ErrHeld):
				e.wait(engine, one)
				joined.Add(1)
			case errors.Is(err, driver.ErrCrowded):
				away.Add(1)
			default:
				e.Errorf("Take with Join of what another holds: %v", err)
			}
		})
	}
	work.Wait()
	if joined.Load() != most || away.Load() != many-most {
		e.Errorf("%d wait and %d were sent away, want %d and %d", joined.Load(), away.Load(), most, many-most)
	}
	e.wantWaiting(engines[0], r.Key, most)
}

// serveAll lets all waiters hold, one after the other.
func (e *env) serveAll(line []*waiter) {
	e.Helper()
	for _, w := range line {
		if !e.can.Fair {
			w.cancelled()
			_ = w.engine.Release(e.ctx, driver.Release{Hold: hold(w.request)})
			continue
		}
		w.granted()
		e.release(w.engine, w.request)
	}
}

func whoWaitsKeepsThePlace(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	first, second := e.among("name", 2), e.among("name", 2)
	e.refused(b, first)
	e.refused(a, second)
	for range 2 { // as the core does that has not got the answer
		e.refused(b, first)
		e.refused(a, second)
	}
	line := []*waiter{e.wait(b, first), e.wait(a, second)}
	e.wantWaiting(a, r.Key, 2)
	e.release(a, r)
	e.serveAll(line)
}

func roomWhenOneHasGone(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	first := e.join(b, e.among("name", 1))
	e.sentAway(a, e.among("name", 1))
	first.gone()
	second := e.join(a, e.among("name", 1))
	e.sentAway(b, e.among("name", 1))
	e.release(a, r)
	second.granted()
	third := e.join(b, e.among("name", 1))
	e.release(second.engine, second.request)
	third.granted()
}

func whoIsSentAwayLeavesNothing(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(a, e.among("name", 1))
	away := e.among("name", 1)
	for range 3 {
		e.sentAway(b, away)
	}
	e.wantWaiting(a, r.Key, 1)
	e.lost(b, away)
	e.release(a, r)
	w.granted()
	e.release(w.engine, w.request)
	e.free(b, r) // and so nobody waits
	e.forgotten(b, away)
}

func whatIsFreeIsGranted(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.among("name", 1)
	g := e.take(a, r)
	w := e.join(b, e.among("name", 1))
	if again := e.take(a, r); again.Token != g.Token { // the holder does not wait
		e.Errorf("Take by the holder answered token %d, want %d", again.Token, g.Token)
	}
	e.release(a, r)
	w.granted()
}

func waitIsNeverSentAway(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.join(a, e.among("name", 1))
	second := e.wait(b, e.among("name", 1)) // as one does whose place has gone
	e.eventually("two wait", func() bool { return e.waiting(a, r.Key) == 2 })
	second.waits()
}

func allKindsOfWaitersCount(e *env) {
	e.needs(e.can.Waiters, "limit of waiters")
	a, b := e.open(), e.open()
	if e.can.Shared {
		e.take(a, e.lock("lock"))
		reader, another := e.among("lock", 2), e.among("lock", 2)
		reader.Mode, another.Mode = driver.Shared, driver.Shared
		e.join(a, reader)
		e.join(b, e.among("lock", 2))
		e.sentAway(b, another)
	}
	if e.can.Semaphores {
		e.take(a, e.permits("permits", 2, 2))
		one := e.permits("permits", 2, 1)
		one.Join, one.Waiters = true, 1
		e.join(b, one)
		one = e.anew(one)
		e.sentAway(a, one)
	}
}
