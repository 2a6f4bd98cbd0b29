package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

func TestOnlyOneHoldsAMutex(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here := newClient(t, e)
		mine, same, theirs := here.Mutex("order"), here.Mutex("order"), newClient(t, e).Mutex("order")
		lease := take(t, mine.Lock)
		for _, m := range []*leasehold.Mutex{mine, same, theirs} {
			_, err := m.TryLock(t.Context())
			expect(t, err, leasehold.ErrHeld)
		}
		local, remote := start(t.Context(), same.Lock), start(t.Context(), theirs.Lock)
		local.wantWaiting(t)
		remote.wantWaiting(t)
		release(t, lease)
		if local.settle() == remote.settle() {
			t.Fatal("exactly one of two waiters must have been let in")
		}
		if !local.settle() {
			local, remote = remote, local
		}
		remote.wantWaiting(t)
		release(t, local.wantValue(t))
		release(t, remote.wantValue(t))
		release(t, take(t, mine.TryLock))
	})
}

func TestNamesAreIndependent(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		take(t, c.Mutex("a").Lock)
		take(t, c.Mutex("b").TryLock)
		take(t, permits(c.Semaphore("a", 1), 1)) // another kind
	})
}

func TestALeaseHasNameTokenAndDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.TTL(10*time.Second))
		var last uint64
		for range 3 {
			lease := take(t, m.Lock)
			if lease.Name() != "order" {
				t.Errorf("the name is %q", lease.Name())
			}
			if lease.Token() <= last || lease.Token() >= 1<<53 {
				t.Errorf("token %d follows %d", lease.Token(), last)
			}
			last = lease.Token()
			// The ttl, less 1 % and 2 ms for clocks with different rates.
			if left := time.Until(lease.Deadline()); left > 9898*time.Millisecond || left < 9800*time.Millisecond {
				t.Errorf("the deadline is %v away", left)
			}
			release(t, lease)
		}
	})
}

func TestAReleasedLeaseIsOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		lease := take(t, m.Lock)
		wantCause(t, lease.Context(), nil)
		release(t, lease)
		wantCause(t, lease.Context(), leasehold.ErrReleased)
		expect(t, lease.Extend(t.Context(), time.Minute), leasehold.ErrReleased)
		expect(t, lease.Downgrade(t.Context()), leasehold.ErrReleased)

		next := take(t, m.Lock)
		before := e.sent("Release")
		release(t, lease) // again: the same result
		if e.sent("Release") != before {
			t.Error("a second Release was sent to the engine")
		}
		wantCause(t, next.Context(), nil)
		_, err := m.TryLock(t.Context())
		expect(t, err, leasehold.ErrHeld)
	})
}

// A context that is first asked for after the end has the same cause.
func TestAContextAskedForAfterTheEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		lease := take(t, m.Lock)
		release(t, lease)
		wantCause(t, lease.Context(), leasehold.ErrReleased)
	})
}

func TestReleaseWorksWhenTheContextHasEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := m.Lock(ctx)
		expect(t, err, nil)
		cancel()
		wantCause(t, lease.Context(), context.Canceled)
		release(t, lease)
		take(t, m.TryLock)
	})
}

func TestAContextThatHasEndedWinsOverAFreeLock(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, f := range map[string]func() error{
			"Lock":       func() error { _, err := c.Mutex("n").Lock(ctx); return err },
			"TryLock":    func() error { _, err := c.Mutex("n").TryLock(ctx); return err },
			"RLock":      func() error { _, err := c.RWMutex("n").RLock(ctx); return err },
			"TryRLock":   func() error { _, err := c.RWMutex("n").TryRLock(ctx); return err },
			"Acquire":    func() error { _, err := c.Semaphore("n", 2).Acquire(ctx, 1); return err },
			"TryAcquire": func() error { _, err := c.Semaphore("n", 2).TryAcquire(ctx, 1); return err },
			"LockAll":    func() error { _, err := c.LockAll(ctx, "n", "o"); return err },
			"Campaign":   func() error { _, err := c.Election("n").Campaign(ctx, "me"); return err },
			"TrySet":     func() error { _, err := c.Latch("n").TrySet(ctx, 1); return err },
			"CountDown":  func() error { _, err := c.Latch("n").CountDown(ctx); return err },
			"Count":      func() error { _, err := c.Latch("n").Count(ctx); return err },
			"Wait":       func() error { return c.Latch("n").Wait(ctx) },
			"Leader":     func() error { _, err := c.Election("n").Leader(ctx); return err },
		} {
			if err := f(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got error %v", name, err)
			}
		}
		if n := e.sent(); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

func TestDoHoldsTheLockWhileItRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		other := newClient(t, e)
		ran := 0
		work := func(ctx context.Context, lease *leasehold.Lease) error {
			ran++
			wantCause(t, ctx, nil)
			if ctx != lease.Context() || lease.Name() != "n" {
				t.Error("the function does not get its own lease and context")
			}
			if _, err := other.Mutex("n").TryLock(t.Context()); ran < 3 {
				expect(t, err, leasehold.ErrHeld) // Do, RDo: a writer is kept out
			}
			return nil
		}
		expect(t, c.RWMutex("n").RDo(t.Context(), work), nil)
		expect(t, c.Mutex("n").Do(t.Context(), work), nil)
		expect(t, c.Semaphore("n", 3).Do(t.Context(), 2, work), nil)
		run := func(context.Context, *leasehold.Lease) error { ran++; return nil }
		expect(t, c.RWMutex("o").Do(t.Context(), run), nil)
		if ran != 4 {
			t.Fatalf("%d functions ran, want 4", ran)
		}
		if held, err := e.Engine.List(t.Context(), driver.Query{Kind: driver.Semaphore}); err != nil ||
			len(held) != 0 {
			t.Fatalf("%v, %v are held after Do", held, err)
		}
	})
}

func TestDoReleasesWhenItsFunctionPanics(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v, want boom", got)
				}
			}()
			m.Do(t.Context(), func(context.Context, *leasehold.Lease) error { panic("boom") })
		}()
		take(t, m.TryLock)
	})
}

func TestDoReleasesWhenItsContextEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order")
		ctx, cancel := context.WithCancel(t.Context())
		err := m.Do(ctx, func(ctx context.Context, _ *leasehold.Lease) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		expect(t, err, context.Canceled)
		take(t, m.TryLock)
	})
}

func TestDoReturnsTheErrorOfItsFunction(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		mine := errors.New("mine")
		err := newClient(t, e).Mutex("order").Do(t.Context(),
			func(context.Context, *leasehold.Lease) error { return mine })
		if err != mine { // not wrapped
			t.Fatalf("got error %v, want %v", err, mine)
		}
	})
}

// Work that ends because its context was cancelled does not know why. The caller of Do must: what was written may
// collide with the writes of others.
func TestDoSaysWhyTheWorkWasCancelled(t *testing.T) {
	own := errors.New("own")
	for name, fn := range map[string]func(context.Context) error{
		"error of the context": func(ctx context.Context) error { return ctx.Err() },
		"wrapped":              func(ctx context.Context) error { return fmt.Errorf("%w: %w", own, ctx.Err()) },
		"cause of the context": context.Cause,
		"error of its own":     func(context.Context) error { return own },
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, e *spy) {
				c := newClient(t, e)
				var result error
				work := func(ctx context.Context, lease *leasehold.Lease) error {
					<-ctx.Done()
					result = fn(ctx)
					return result
				}
				for _, call := range []struct {
					do   func() error
					want error
				}{
					{func() error { return c.Mutex("order", leasehold.NoRenew()).Do(t.Context(), work) },
						leasehold.ErrLost},
					{func() error { return c.Mutex("order", leasehold.MaxHold(time.Second)).Do(t.Context(), work) },
						leasehold.ErrMaxHold},
					{func() error { return c.RWMutex("order", leasehold.NoRenew()).Do(t.Context(), work) },
						leasehold.ErrLost},
					{func() error { return c.RWMutex("order", leasehold.NoRenew()).RDo(t.Context(), work) },
						leasehold.ErrLost},
					{func() error { return c.Semaphore("order", 2, leasehold.NoRenew()).Do(t.Context(), 1, work) },
						leasehold.ErrLost},
				} {
					expect(t, call.do(), result, call.want)
				}
			})
		})
	}
}

func TestDoSaysThatTheLeaseWasLost(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		err := c.Mutex("order").Do(t.Context(), func(ctx context.Context, lease *leasehold.Lease) error {
			lose(t, e, driver.Lock, lease)
			wantCause(t, ctx, leasehold.ErrLost)
			return nil
		})
		expect(t, err, leasehold.ErrLost)
	})
}

func TestDoDoesNothingWithoutTheLock(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, e).Mutex("order", leasehold.WaitLimit(time.Second))
		take(t, m.Lock)
		err := m.Do(t.Context(), func(context.Context, *leasehold.Lease) error {
			t.Error("the function ran")
			return nil
		})
		expect(t, err, leasehold.ErrTimeout)
	})
}
