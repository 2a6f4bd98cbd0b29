package drivertest

import (
	"crypto/rand"
	"errors"
	"sync/atomic"

	"github.com/leasehold-go/leasehold/driver"
)

var recall = []check{
	{"IdleHolderIsRecalled", idleHolderIsRecalled},
	{"HolderInUseSaysSo", holderInUseSaysSo},
	{"WaiterOfALockInUseWaits", waiterOfALockInUseWaits},
	{"OnlyWhatIsAskedForIsRecalled", onlyWhatIsAskedForIsRecalled},
	{"ReleaseEndsRecalls", releaseEndsRecalls},
	{"RenewalKeepsRecalls", renewalKeepsRecalls},
	{"RefusedOwnerIsNotRecalled", refusedOwnerIsNotRecalled},
	{"ListingsSayWhatMayBeIdle", listingsSayWhatMayBeIdle},
}

// recallable is an owner that may be recalled.
type recallable struct {
	*env
	engine  driver.Engine
	request driver.Request
	inUse   bool
	granted atomic.Bool
	calls   atomic.Int32
}

// takeRecallable takes a free name for an owner that lets go when it is recalled, unless it uses the lock. An engine
// may grant what it cannot recall yet, as a server has not confirmed a subscription: then it takes the name again.
func (e *env) takeRecallable(engine driver.Engine, name string, inUse bool) *recallable {
	e.Helper()
	e.needs(e.can.Recalls, "recall")
	r := &recallable{env: e, engine: engine, request: e.lock(name), inUse: inUse}
	r.request.Recall = func() bool {
		if r.granted.Load() && r.calls.Add(1) == 1 && !inUse {
			go func() { _ = engine.Release(e.ctx, driver.Release{Hold: holdOf(r.request)}) }()
		}
		return inUse
	}
	e.eventually("a grant of a free name to an owner with Recall is Recallable", func() bool {
		if e.take(engine, r.request).Recallable {
			r.granted.Store(true)
			return true
		}
		e.release(engine, r.request)
		r.request.Owner = rand.Text()
		return false
	})
	return r
}

func (r *recallable) wantCalls(least, most int32) {
	r.Helper()
	if n := r.calls.Load(); n < least || n > most {
		r.Errorf("Recall of %s was called %d times, want %d to %d", r.request.Name, n, least, most)
	}
}

// takeOrWait takes a name that is idle.
func (e *env) takeOrWait(engine driver.Engine, r driver.Request) {
	e.Helper()
	r.Join = true
	switch _, err := engine.Take(e.ctx, r); {
	case errors.Is(err, driver.ErrHeld):
		e.wait(engine, r).mustBeGranted()
	case err != nil:
		e.Fatalf("Take of an idle lock: %v", err)
	}
}

// probe asks for a name as a try of the core does, and returns the outcome.
func (e *env) probe(engine driver.Engine, r driver.Request) error {
	_, err := engine.Take(e.ctx, r)
	if held, ok := errors.AsType[*driver.HeldError](err); !ok || !held.Lingers {
		return err
	}
	r.Join, r.Probe = true, true
	if _, err = engine.Take(e.ctx, r); errors.Is(err, driver.ErrHeld) {
		_, err = engine.Wait(e.ctx, r)
	}
	return err
}

func idleHolderIsRecalled(e *env) {
	a, b := e.open(), e.open()
	for i, mode := range []driver.Mode{driver.Exclusive, driver.Shared, driver.Exclusive, driver.Shared} {
		if mode == driver.Shared && !e.can.Shared {
			continue
		}
		holder := e.takeRecallable(a, "name", false)
		r := e.lock("name")
		r.Mode = mode
		if i < 2 {
			if err := e.probe(b, r); err != nil {
				e.Fatalf("a try (%s) of a lock that is idle: %v", mode, err)
			}
		} else {
			e.takeOrWait(b, r)
		}
		holder.wantCalls(1, 100)
		e.release(b, r)
		e.checkNotHeld(a, holder.request)
	}
	e.checkFree(b, e.lock("name"))
}

func holderInUseSaysSo(e *env) {
	a, b := e.open(), e.open()
	holder := e.takeRecallable(a, "name", true)
	for range 3 {
		r := e.lock("name")
		if err := e.probe(b, r); !errors.Is(err, driver.ErrHeld) {
			e.Fatalf("a try of a lock in use: %v", err)
		}
		_ = b.Release(e.ctx, driver.Release{Hold: holdOf(r)})
	}
	e.mustRenew(a, holder.request, e.long)
	e.release(a, holder.request)
	e.checkFree(b, e.lock("name"))
}

func waiterOfALockInUseWaits(e *env) {
	a, b := e.open(), e.open()
	holder := e.takeRecallable(a, "name", true)
	w := e.join(b, e.lock("name"))
	e.eventually("the holder is recalled", func() bool { return holder.calls.Load() > 0 })
	w.checkWaiting()
	e.release(a, holder.request)
	w.mustBeGranted()
	e.release(b, w.request)
}

// An engine that may have missed a message recalls more than it has to, but not each time.
func onlyWhatIsAskedForIsRecalled(e *env) {
	a, b := e.open(), e.open()
	for range 5 {
		one, other := e.takeRecallable(a, "one", false), e.takeRecallable(a, "another", true)
		r := e.lock("one")
		e.takeOrWait(b, r)
		e.release(b, r)
		one.wantCalls(1, 100)
		e.mustRenew(a, other.request, e.long)
		e.release(a, other.request)
		if other.calls.Load() == 0 {
			return
		}
	}
	e.Error("a lock that nobody asked for was recalled each time")
}

func releaseEndsRecalls(e *env) {
	a, b := e.open(), e.open()
	holder := e.takeRecallable(a, "name", true)
	e.release(a, holder.request)
	next := e.takeRecallable(a, "name", true)
	w := e.join(b, e.lock("name"))
	e.eventually("the next holder is recalled", func() bool { return next.calls.Load() > 0 })
	holder.wantCalls(0, 0)
	e.release(a, next.request)
	w.mustBeGranted()
	e.release(b, w.request)
}

func renewalKeepsRecalls(e *env) {
	a, b := e.open(), e.open()
	holder := e.takeRecallable(a, "name", false)
	e.mustRenew(a, holder.request, e.long)
	r := e.lock("name")
	e.takeOrWait(b, r)
	e.release(b, r)
	holder.wantCalls(1, 100)
}

func refusedOwnerIsNotRecalled(e *env) {
	a, b := e.open(), e.open()
	holder := e.takeRecallable(a, "name", true)
	refused := e.lock("name")
	var calls atomic.Int32
	refused.Recall = func() bool { calls.Add(1); return false }
	e.mustBeRefused(a, refused)
	w := e.join(b, e.lock("name"))
	e.eventually("the holder is recalled", func() bool { return holder.calls.Load() > 0 })
	if calls.Load() > 0 {
		e.Error("Recall of an owner that was refused was called")
	}
	e.release(a, holder.request)
	w.mustBeGranted()
	e.release(b, w.request)
}

func listingsSayWhatMayBeIdle(e *env) {
	a, b := e.open(), e.open()
	holder := e.takeRecallable(a, "name", true)
	other := e.lock("other")
	e.take(a, other)
	w := e.join(b, e.lock("name")) // a waiter changes nothing about that
	for name, want := range map[string]bool{"name": true, "other": false} {
		st := e.status(b, e.lock(name).Key)
		if len(st.Holders) != 1 || st.Holders[0].MayBeIdle != want || st.Holders[0].Holder != "drivertest" {
			e.Errorf("%s is listed as %+v; want MayBeIdle %v", name, st.Holders, want)
		}
	}
	e.release(a, holder.request)
	w.mustBeGranted()
	e.release(b, w.request)
	e.release(a, other)
}
