package drivertest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

// The core repeats or undoes a request whose reply is lost. These checks do the same.
var unknown = []check{
	{"TakeIsRepeated", takeIsRepeated},
	{"TakeIsUndone", takeIsUndone},
	{"TakeThatComesLateIsUndone", takeThatComesLate},
	{"WaitIsRepeated", waitIsRepeated},
	{"WaitIsUndone", waitIsUndone},
	{"WaitThatComesLateIsUndone", waitThatComesLate},
	{"RenewIsRepeated", renewIsRepeated},
	{"LostItemsDoNotDelayOthers", lostItemsDoNotDelayOthers},
	{"ReleaseIsRepeated", releaseIsRepeated},
	{"ReleaseThatComesLate", releaseThatComesLate},
	{"DowngradeIsRepeated", downgradeIsRepeated},
}

// faulty opens an engine whose first request with this method meets the fault.
func (e *env) faulty(m Method, fault Fault) *Faulty {
	e.Helper()
	return NewFaulty(e.open(), first(m, fault))
}

// first returns a plan that gives the fault to the first request with this method.
func first(m Method, fault Fault) func(Op) Fault {
	var met atomic.Bool
	return func(op Op) Fault {
		if op.Method == m && met.CompareAndSwap(false, true) {
			return fault
		}
		return Fault{}
	}
}

// lostReply loses the reply of a request that has taken effect.
var lostReply = Fault{Break: true}

// checkUnknown checks the error of a request that has met a fault.
func (e *env) checkUnknown(err error) {
	e.Helper()
	if err == nil || driver.HadNoEffect(err) {
		e.Fatalf("a request without a reply answered %v, want an error of unknown outcome", err)
	}
}

func takeIsRepeated(e *env) {
	a, b := e.faulty(Take, lostReply), e.open()
	r := e.lock("name")
	_, err := a.Take(e.ctx, r)
	e.checkUnknown(err)
	e.mustBeRefused(b, e.lock("name"))
	g := e.take(a, r)
	if again := e.take(a, r); again.Token != g.Token {
		e.Errorf("Take answers token %d, and %d when repeated", g.Token, again.Token)
	}
	e.release(a, r)
	e.checkFree(b, r)
}

func takeIsUndone(e *env) {
	a, b := e.faulty(Take, lostReply), e.open()
	r := e.lock("name")
	_, err := a.Take(e.ctx, r)
	e.checkUnknown(err)
	e.release(a, r)
	e.checkFree(b, r)
}

func takeThatComesLate(e *env) {
	a, b := e.faulty(Take, Fault{Hang: true}), e.open()
	r := e.lock("name")
	late := make(chan error, 1)
	go func() {
		_, err := a.Take(e.ctx, r)
		late <- err
	}()
	e.awaitHanging(a)
	e.checkNotHeld(b, r)
	a.Resume()
	a.AwaitEffects()
	if err := <-late; err != nil {
		e.Errorf("Take: %v", err)
	}
	e.mustBeRefused(b, e.lock("name"))
	e.release(a, r) // the core keeps releasing until the request can no longer arrive
	e.checkFree(b, r)
}

// awaitHanging waits until a request hangs.
func (e *env) awaitHanging(f *Faulty) {
	e.Helper()
	e.eventually("the request hangs", func() bool { return f.Hanging() > 0 })
}

func waitIsRepeated(e *env) {
	a, b := e.open(), e.faulty(Wait, lostReply)
	r := e.lock("name")
	g := e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.release(a, r)
	w.awaitReturn()
	e.checkUnknown(w.err)
	e.mustBeRefused(a, e.lock("name"))
	again := e.wait(b, w.request)
	if got := again.mustBeGranted(); got.Token <= g.Token {
		e.Errorf("token %d follows %d", got.Token, g.Token)
	}
	e.release(b, w.request)
	e.checkFree(a, r)
}

func waitIsUndone(e *env) {
	a, b := e.open(), e.faulty(Wait, lostReply)
	r := e.lock("name")
	e.take(a, r)
	w := e.join(b, e.lock("name"))
	e.release(a, r)
	w.awaitReturn()
	e.checkUnknown(w.err)
	e.release(b, w.request)
	e.checkFree(a, r)
}

func waitThatComesLate(e *env) {
	a, b := e.open(), e.faulty(Wait, Fault{Hang: true})
	r, queued := e.lock("name"), e.lock("name")
	e.take(a, r)
	ctx, cancel := context.WithCancel(e.ctx)
	late := make(chan error, 1)
	go func() {
		_, err := b.Wait(ctx, queued)
		late <- err
	}()
	e.awaitHanging(b)
	cancel()
	e.checkNotHeld(b, queued)
	b.Resume()
	b.AwaitEffects()
	if err := <-late; err == nil {
		e.Error("Wait was granted a held name")
	}
	e.checkNotHeld(b, queued)
	e.release(a, r)
	e.checkFree(a, r)
}

func renewIsRepeated(e *env) {
	a, b := e.faulty(Renew, lostReply), e.open()
	r := e.withShortTTL(e.lock("name"))
	e.take(a, r)
	e.checkUnknown(e.renew(a, r, e.long))
	e.mustRenew(a, r, e.long)
	e.expireShortLeases()
	e.mustBeRefused(b, e.lock("name"))
}

func lostItemsDoNotDelayOthers(e *env) {
	lost, held := e.lock("lost"), e.lock("held")
	a := NewFaulty(e.open(), func(op Op) Fault {
		return Fault{Drop: op.Method == Renew && op.Key == lost.Key}
	})
	e.take(a, lost)
	e.take(a, held)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	var reported []int
	a.Renew(ctx, []driver.Renewal{{Hold: holdOf(lost), TTL: e.long}, {Hold: holdOf(held), TTL: e.long}},
		func(i int, err error) {
			if err != nil {
				e.Errorf("item %d: %v", i, err)
			}
			reported = append(reported, i)
			cancel() // only now is the lost item given up
		})
	if len(reported) != 1 || reported[0] != 1 {
		e.Errorf("reported %v, want the second item alone", reported)
	}
}

func releaseIsRepeated(e *env) {
	a, b := e.faulty(Release, lostReply), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.checkUnknown(a.Release(e.ctx, driver.Release{Hold: holdOf(r)}))
	next := e.lock("name")
	e.take(b, next)
	e.checkNotHeld(a, r)
	e.mustRenew(b, next, e.long)
}

func releaseThatComesLate(e *env) {
	a, b := e.faulty(Release, Fault{Hang: true}), e.open()
	r := e.lock("name")
	e.take(a, r)
	late := make(chan error, 1)
	go func() { late <- a.Release(e.ctx, driver.Release{Hold: holdOf(r)}) }()
	e.awaitHanging(a)
	e.release(b, r) // repeated over another connection
	next := e.lock("name")
	e.take(b, next)
	a.Resume()
	a.AwaitEffects()
	if err := <-late; !errors.Is(err, driver.ErrNotHeld) {
		e.Errorf("late Release: %v, want ErrNotHeld", err)
	}
	e.mustRenew(b, next, e.long)
	e.mustBeRefused(a, e.lock("name"))
}

func downgradeIsRepeated(e *env) {
	e.needs(e.can.Shared, "shared mode")
	a, b := e.faulty(Downgrade, lostReply), e.open()
	r := e.lock("name")
	e.take(a, r)
	e.checkUnknown(a.Downgrade(e.ctx, holdOf(r)))
	if err := a.Downgrade(e.ctx, holdOf(r)); err != nil {
		e.Errorf("Downgrade repeated: %v", err)
	}
	e.take(b, e.reader("name"))
	e.mustBeRefused(b, e.lock("name"))
	e.release(a, r)
}
