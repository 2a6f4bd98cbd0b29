package drivertest

import (
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

const asleep = 3 * time.Millisecond

// join queues for what is held. It returns when the place in the queue is taken.
func (e *env) join(engine driver.Engine, r driver.Request) *waiter {
	e.Helper()
	r.Join = true
	e.refused(engine, r)
	return e.wait(engine, r)
}

// wait calls Wait in a goroutine, and gives it a moment to fall asleep. Nothing tells
// when it has. No check relies on it, but what fails to wake sleepers is found.
func (e *env) wait(engine driver.Engine, r driver.Request) *waiter {
	ctx, cancel := context.WithCancel(e.ctx)
	w := &waiter{env: e, engine: engine, request: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = engine.Wait(ctx, r)
	}()
	e.Cleanup(func() {
		cancel()
		w.returned()
	})
	e.pause(asleep)
	return w
}

// granted waits for the grant.
func (w *waiter) granted() driver.Grant {
	w.Helper()
	w.returned()
	if w.err != nil {
		w.Fatalf("Wait: %v", w.err)
	}
	w.checkGrant(w.request, w.grant)
	if w.grant.Start.IsZero() {
		w.Error("Wait left Grant.Start zero")
	}
	return w.grant
}

// cancelled ends the Wait as a caller does that waits no longer.
func (w *waiter) cancelled() {
	w.Helper()
	w.cancel()
	w.returned()
	if w.err == nil {
		return // the grant came first
	}
	if !errors.Is(w.err, context.Canceled) {
		w.Errorf("Wait with a cancelled context: %v, want context.Canceled", w.err)
	}
}

// gone ends the Wait and does what the core does then.
func (w *waiter) gone() {
	w.Helper()
	w.cancelled()
	releases := 1
	if !driver.HadNoEffect(w.err) {
		releases = 10 // something of the Wait may still be under way: the core goes on releasing, too
	}
	for i := range releases {
		if i > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		err := w.engine.Release(w.ctx, driver.Release{Hold: hold(w.request)})
		if err != nil && !errors.Is(err, driver.ErrNotHeld) {
			w.Errorf("Release after Wait: %v", err)
		}
	}
}

func (w *waiter) returned() {
	w.Helper()
	patience := time.NewTimer(w.patience)
	defer patience.Stop()
	select {
	case <-w.done:
	case <-patience.C:
		w.Fatalf("Wait has not returned within %v", w.patience)
	}
}

// waits checks that the Wait has not returned yet.
func (w *waiter) waits() {
	w.Helper()
	select {
	case <-w.done:
		w.Fatalf("Wait answered token %d, %v before its turn", w.grant.Token, w.err)
	default:
	}
}
