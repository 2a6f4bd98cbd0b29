package drivertest

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// waiter is an owner that waits in a goroutine.
type waiter struct {
	*env
	engine  driver.Engine
	request driver.Request
	cancel  context.CancelFunc
	done    chan struct{} // closed when Wait has returned
	grant   driver.Grant
	err     error
}

const timeToFallAsleep = 3 * time.Millisecond

// join queues for a held name. It returns when the owner has its place in the queue.
func (e *env) join(engine driver.Engine, r driver.Request) *waiter {
	e.Helper()
	r.Join = true
	e.mustBeRefused(engine, r)
	return e.wait(engine, r)
}

// wait calls Wait in a goroutine, and gives it a moment to fall asleep. Nothing shows when it has.
// No check relies on it, but it finds engines that fail to wake a sleeping waiter.
func (e *env) wait(engine driver.Engine, r driver.Request) *waiter {
	ctx, cancel := context.WithCancel(e.ctx)
	w := &waiter{env: e, engine: engine, request: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = engine.Wait(ctx, r)
	}()
	e.Cleanup(func() {
		cancel()
		w.awaitReturn()
	})
	e.pause(timeToFallAsleep)
	return w
}

// mustBeGranted waits for the grant.
func (w *waiter) mustBeGranted() driver.Grant {
	w.Helper()
	w.awaitReturn()
	if w.err != nil {
		w.Fatalf("Wait: %v", w.err)
	}
	w.checkGrant(w.request, w.grant)
	if w.grant.Start.IsZero() {
		w.Error("Wait left Grant.Start zero")
	}
	w.request.Owner = cmp.Or(w.grant.Owner, w.request.Owner) // which the core continues as
	return w.grant
}

// cancelAndCheck ends the Wait, as a caller that stops waiting does.
func (w *waiter) cancelAndCheck() {
	w.Helper()
	w.cancel()
	w.awaitReturn()
	if w.err == nil { // the grant came first
		w.request.Owner = cmp.Or(w.grant.Owner, w.request.Owner)
		return
	}
	if !errors.Is(w.err, context.Canceled) {
		w.Errorf("Wait with a cancelled context: %v, want context.Canceled", w.err)
	}
}

// leave ends the Wait and releases the owner, as the core does.
func (w *waiter) leave() {
	w.Helper()
	w.cancelAndCheck()
	releases := 1
	if !driver.HadNoEffect(w.err) {
		releases = 10 // something of the Wait may still be in flight: the core keeps releasing, too
	}
	for i := range releases {
		if i > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		err := w.engine.Release(w.ctx, driver.Release{Hold: holdOf(w.request)})
		if err != nil && !errors.Is(err, driver.ErrNotHeld) {
			w.Errorf("Release after Wait: %v", err)
		}
	}
}

func (w *waiter) awaitReturn() {
	w.Helper()
	patience := time.NewTimer(w.patience)
	defer patience.Stop()
	select {
	case <-w.done:
	case <-patience.C:
		w.Fatalf("Wait has not returned within %v", w.patience)
	}
}

// checkWaiting checks that the Wait has not returned yet.
func (w *waiter) checkWaiting() {
	w.Helper()
	select {
	case <-w.done:
		w.Fatalf("Wait answered token %d, %v before its turn", w.grant.Token, w.err)
	default:
	}
}
