package leasehold_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

// An observer that counts the calls that wait is right at every moment: each wait begins once and ends once, whatever
// the outcome of the call.
func TestEachWaitBeginsAndEndsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := leasehold.New(e, leasehold.WithObserver(&seen))
		want := func(n int, when string) {
			t.Helper()
			if got := seen.waiting(); got != n {
				t.Errorf("%s, %d calls wait by the events, want %d", when, got, n)
			}
		}
		elsewhere := take(t, newClient(t, e).Mutex("order").Lock)
		m := c.Mutex("order")
		ctx, cancel := context.WithCancel(t.Context())
		waiting := queueUp(t, m.Lock, m.Lock, m.Lock)
		gone := start(ctx, m.Lock)
		gone.wantWaiting(t)
		late := start(t.Context(), c.Mutex("order", leasehold.WaitLimit(time.Second)).Lock)
		late.wantWaiting(t)
		want(5, "with one at the engine and four behind it")
		var local []bool
		for _, w := range eventsOf[leasehold.Waiting](&seen) {
			local = append(local, w.Local)
		}
		if !slices.Equal(local, []bool{false, true, true, true, true}) {
			t.Errorf("waiting for others of this process: %v", local)
		}
		cancel()
		gone.wantErr(t, context.Canceled)
		want(4, "after one was cancelled")
		time.Sleep(time.Second)
		late.wantErr(t, leasehold.ErrTimeout)
		want(3, "after one has run out of patience")

		_, err := m.TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
		want(3, "after a try, which does not wait")
		release(t, elsewhere)
		first := waiting[0].wantValue(t)
		want(2, "after one was granted")
		release(t, first)
		second := waiting[1].wantValue(t)
		want(1, "after the lease was handed over")
		expect(t, c.Close(), nil)
		waiting[2].wantErr(t, leasehold.ErrClosed)
		want(0, "after the client was closed")
		wantCause(t, second.Context(), leasehold.ErrClosed)
		seen.balance(t)
	})
}

// A call may wait for others of its process first, and then for the engine: that is one wait, and two events.
func TestAWaitGoesOnAtTheEngine(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		m := newClient(t, e, leasehold.WithObserver(&seen), leasehold.WithHandOver(0)).Mutex("order")
		held := take(t, m.Lock)
		here := queueUp(t, m.Lock)[0]
		elsewhere := queueUp(t, newClient(t, e).Mutex("order").Lock)[0]
		release(t, held)
		other := elsewhere.wantValue(t)
		here.wantWaiting(t)
		waits := eventsOf[leasehold.Waiting](&seen)
		if len(waits) != 2 || !waits[0].Local || waits[0].Again || waits[1].Local || !waits[1].Again ||
			seen.waiting() != 1 {
			t.Fatalf("observed %+v, want a wait here that goes on at the engine", waits)
		}
		release(t, other)
		release(t, here.wantValue(t))
		seen.balance(t)
	})
}

type key struct{}

// Events have the context of the call, so that they can be put into its trace.
func TestEventsHaveTheContextOfTheCall(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		var seen events
		c := newClient(t, e, leasehold.WithObserver(&seen))
		ctx := context.WithValue(t.Context(), key{}, "mine")
		m := c.Mutex("order", leasehold.WaitLimit(time.Minute))
		held, err := m.Lock(ctx)
		expect(t, err, nil)
		waiting := start(ctx, m.Lock)
		waiting.wantWaiting(t)
		time.Sleep(time.Minute)
		waiting.wantErr(t, leasehold.ErrTimeout)
		elsewhere := start(ctx, newClient(t, e, leasehold.WithObserver(&seen)).Mutex("order").Lock)
		elsewhere.wantWaiting(t)
		set, err := c.LockAll(ctx, "a", "b")
		expect(t, err, nil)
		release(t, set)
		release(t, held)
		release(t, elsewhere.wantValue(t))
		var contexts []context.Context
		for _, g := range eventsOf[leasehold.Granted](&seen) {
			contexts = append(contexts, g.Context)
		}
		for _, w := range eventsOf[leasehold.Waiting](&seen) {
			contexts = append(contexts, w.Context)
		}
		for _, f := range eventsOf[leasehold.Failed](&seen) {
			contexts = append(contexts, f.Context)
		}
		if len(contexts) != 4+2+1 {
			t.Errorf("observed %d events with a context, want 7: %+v", len(contexts), seen.all)
		}
		for _, ctx := range contexts {
			if ctx == nil || ctx.Value(key{}) != "mine" {
				t.Errorf("%v is not the context of the call", ctx)
			}
		}
	})
}
