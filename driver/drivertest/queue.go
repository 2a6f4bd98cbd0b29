package drivertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

var queue = []check{
	{"ReleaseHandsOver", releaseHandsOver},
	{"WaitNeedsNoTake", waitNeedsNoTake},
	{"WaitOfAFreeName", waitOfAFreeName},
	{"WaitByTheHolder", waitByTheHolder},
	{"InTheOrderOfJoining", inTheOrderOfJoining},
	{"NewcomersDoNotOvertake", newcomersDoNotOvertake},
	{"EndOfALeaseHandsOver", endOfALeaseHandsOver},
	{"RefusedTakeLeavesNoPlace", refusedTakeLeavesNoPlace},
	{"JoiningTwiceIsOnePlace", joiningTwiceIsOnePlace},
	{"WaitEndsWithItsContext", waitEndsWithItsContext},
	{"CancelledWaiterLeavesNoPlace", cancelledWaiterLeavesNoPlace},
	{"LastWaiterCancelled", lastWaiterCancelled},
	{"ReleasedPlaceIsGone", releasedPlaceIsGone},
	{"GrantThatCameTooLateIsReleased", grantThatCameTooLate},
	{"Wanted", wanted},
}

func releaseHandsOver(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	first := e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.mustBeRefused(a, e.lock("name"))
	w.checkWaiting()
	e.release(a, r)
	if second := w.mustBeGranted(); second.Token <= first.Token {
		e.Errorf("token %d follows %d", second.Token, first.Token)
	}
	e.mustBeRefused(a, e.lock("name"))
	e.mustRenew(b, w.request, e.long)
	e.release(b, w.request)
}

func waitNeedsNoTake(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.wait(b, e.lock("name"))
	e.mustBeRefused(a, e.lock("name"))
	w.checkWaiting()
	e.release(a, r)
	w.mustBeGranted()
}

func waitOfAFreeName(e *env) {
	a, b := e.open(), e.open()
	w := e.wait(a, e.lock("name"))
	w.mustBeGranted()
	e.mustBeRefused(b, e.lock("name"))
	e.release(a, w.request)
	e.checkFree(b, w.request)
}

func waitByTheHolder(e *env) {
	a := e.open()
	r := e.lock("name")
	g := e.take(a, r)
	w := e.wait(a, r)
	if again := w.mustBeGranted(); again.Token != g.Token {
		e.Errorf("Wait by the holder answered token %d, want %d", again.Token, g.Token)
	}
}

func inTheOrderOfJoining(e *env) {
	e.needs(e.can.Fair, "order among waiters")
	engines := []driver.Engine{e.open(), e.open(), e.open()}
	r := e.lock("name")
	last := e.take(engines[0], r).Token
	var line []*waiter
	for i := range 7 {
		line = append(line, e.join(engines[i%len(engines)], e.lock("name")))
	}
	e.release(engines[0], r)
	for i, w := range line {
		g := w.mustBeGranted()
		if g.Token <= last {
			e.Errorf("waiter %d got token %d, after %d", i, g.Token, last)
		}
		last = g.Token
		for _, later := range line[i+1:] {
			later.checkWaiting()
		}
		e.release(w.engine, w.request)
	}
	e.checkFree(engines[0], r)
}

func newcomersDoNotOvertake(e *env) {
	e.needs(e.can.Fair, "order among waiters")
	a, b, c := e.open(), e.open(), e.open()
	for range 5 {
		r := e.lock("name")
		e.take(a, r)
		w := e.join(b, e.lock("name"))
		e.release(a, r)
		e.mustBeRefused(c, e.lock("name"))
		w.mustBeGranted()
		e.release(b, w.request)
	}
}

func endOfALeaseHandsOver(e *env) {
	a, b := e.open(), e.open()
	var g driver.Grant
	var w *waiter
	for try := 0; w == nil; try++ {
		name := fmt.Sprint(try)
		began := time.Now()
		g = e.take(a, e.withShortTTL(e.lock(name)))
		queued := e.lock(name)
		queued.Join = true
		switch late, err := b.Take(e.ctx, queued); {
		case errors.Is(err, driver.ErrHeld):
			w = e.wait(b, queued)
		// Otherwise the machine was too busy.
		case err != nil || e.environment.Advance != nil || time.Since(began) < e.short || try == 4:
			e.Fatalf("Take of a held name answered token %d, %v; want ErrHeld", late.Token, err)
		}
	}
	e.expireShortLeases()
	if got := w.mustBeGranted(); got.Token <= g.Token {
		e.Errorf("token %d follows %d", got.Token, g.Token)
	}
	w.request.Join = false
	e.mustBeRefused(a, e.byNewOwner(w.request))
}

func refusedTakeLeavesNoPlace(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.mustBeRefused(b, e.lock("name"))
	e.mustBeRefused(b, e.lock("name"))
	e.release(a, r)
	e.checkFree(a, r)
}

func joiningTwiceIsOnePlace(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	queued := e.lock("name")
	queued.Join = true
	e.mustBeRefused(b, queued)
	e.mustBeRefused(b, queued)
	w := e.join(b, queued)
	e.release(a, r)
	w.mustBeGranted()
	e.release(b, w.request)
	e.checkFree(a, r)
}

func waitEndsWithItsContext(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	w.cancelAndCheck()
	e.mustRenew(a, r, e.long)
}

func cancelledWaiterLeavesNoPlace(e *env) {
	a, b, c := e.open(), e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	first := e.join(b, e.lock("name"))
	second := e.join(c, e.lock("name"))
	third := e.join(b, e.lock("name"))
	fourth := e.join(c, e.lock("name"))
	first.leave()
	third.leave()
	e.release(a, r)
	next, last := second, fourth
	if firstOf(second, fourth) == fourth { // on an engine that is not fair
		next, last = fourth, second
	}
	next.mustBeGranted()
	e.release(next.engine, next.request)
	last.mustBeGranted()
	e.release(last.engine, last.request)
	e.checkFree(a, r)
}

// firstOf returns the waiter whose Wait returns first.
func firstOf(a, b *waiter) *waiter {
	select {
	case <-a.done:
		return a
	case <-b.done:
		return b
	case <-a.ctx.Done():
		a.Fatal("neither waiter has been granted the lock")
		return nil
	}
}

func lastWaiterCancelled(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.join(b, e.lock("name")).leave()
	e.release(a, r)
	e.checkFree(a, r)
	e.checkFree(b, r)
}

func releasedPlaceIsGone(e *env) {
	a, b := e.open(), e.open()
	r := e.lock("name")
	e.take(a, r)
	queued := e.lock("name")
	queued.Join = true
	e.mustBeRefused(b, queued)
	e.checkNotHeld(b, queued) // it waited, and did not hold
	e.release(a, r)
	e.checkFree(a, r)
}

func grantThatCameTooLate(e *env) {
	a, b := e.open(), e.open()
	for i := range 20 {
		name := fmt.Sprint(i)
		r := e.lock(name)
		e.take(a, r)
		w := e.join(b, e.lock(name))
		released := make(chan error, 1)
		go func() { released <- a.Release(e.ctx, driver.Release{Hold: holdOf(r)}) }()
		w.leave() // at the same moment: the grant may come or not
		if err := <-released; err != nil {
			e.Fatalf("Release: %v", err)
		}
		e.checkFree(a, r)
	}
}

func wanted(e *env) {
	a, b := e.open(), e.open()
	wanter, ok := b.(driver.Wanter)
	e.needs(ok, "Wanted")
	r := e.lock("name")
	if wanter.Wanted(r.Key) {
		e.Error("Wanted, but nobody has asked")
	}
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	if !wanter.Wanted(r.Key) {
		e.Error("not Wanted, while this process waits")
	}
	w.leave()
	e.eventually("not Wanted when nobody waits any more", func() bool { return !wanter.Wanted(r.Key) })
}
