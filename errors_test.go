package leasehold_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
)

// errLost is the error of a test's engine when a request or its reply was lost.
var errLost = errors.New("connection reset")

// permanent is the error of a test's engine when trying again is pointless.
var permanent = driver.Permanent(errors.New("no rights"))

// sentinels are all errors that a caller may have to tell apart.
var sentinels = []error{
	leasehold.ErrHeld, leasehold.ErrTooManyWaiters, leasehold.ErrFull, leasehold.ErrTimeout,
	leasehold.ErrUnavailable, leasehold.ErrLost, leasehold.ErrReleased,
	leasehold.ErrMaxHold, leasehold.ErrUnknown, leasehold.ErrUnsupported, leasehold.ErrUpgrade, leasehold.ErrClosed,
	leasehold.ErrInvalid, leasehold.ErrNotSet, leasehold.ErrNoLeader, context.Canceled, context.DeadlineExceeded,
}

// expectOnly expects an error that is want and none of the others.
func expectOnly(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, s := range sentinels {
		if is := errors.Is(err, s); is != slices.Contains(want, s) {
			t.Errorf("error %q: is it %q? %v", err, s, is)
		}
	}
}

func TestReasonsForNotGettingALockAreToldApart(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		take(t, c.Mutex("order").Lock)

		_, err := c.Mutex("order").TryLock(t.Context())
		expectOnly(t, err, leasehold.ErrHeld)

		// In the local queue as well as in that of the engine.
		for _, c := range []*leasehold.Client{c, newClient(t, e)} {
			limited := c.Mutex("order", leasehold.WaitLimit(time.Second))
			began := time.Now()
			_, err = limited.Lock(t.Context())
			expectOnly(t, err, leasehold.ErrTimeout)
			if took := time.Since(began); took != time.Second {
				t.Errorf("a wait limit of 1s took %v", took)
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			_, err = limited.Lock(ctx)
			expectOnly(t, err, context.DeadlineExceeded)
			cancel()

			ctx, cancel = context.WithCancel(t.Context())
			waiting := start(ctx, limited.Lock)
			waiting.wantWaiting(t)
			cancel()
			waiting.settle()
			expectOnly(t, waiting.err, context.Canceled)

			why := errors.New("the user went home")
			ctx, because := context.WithCancelCause(t.Context())
			waiting = start(ctx, limited.Lock)
			waiting.wantWaiting(t)
			because(why)
			waiting.wantErr(t, context.Canceled, why)
		}

		other := newClient(t, e)
		waiting := start(t.Context(), other.Mutex("order").Lock)
		waiting.wantWaiting(t)
		expect(t, other.Close(), nil)
		waiting.settle()
		expectOnly(t, waiting.err, leasehold.ErrClosed)
	})
}

func TestAnEngineThatFailsIsReportedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		for name, trouble := range map[string]error{"unknown": errLost, "no effect": driver.NoEffect(errLost),
			"permanent": driver.Permanent(errLost)} {
			e.fail(func(call) error { return trouble })
			began := time.Now()
			for _, f := range []asker{c.Mutex("order").Lock, c.Mutex("order").TryLock,
				permits(c.Semaphore("s", 1), 1)} {
				_, err := f(t.Context())
				expectOnly(t, err, leasehold.ErrUnavailable)
				expect(t, err, errLost) // the engine's own error is wrapped
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%s: took %v", name, took)
			}
			e.fail(nil)
			release(t, take(t, c.Mutex("order").Lock))
		}
	})
}

// A lost reply may stand for a grant. What is left of it is undone, so that others need not wait for the ttl.
func TestALostReplyLeavesNothingBehind(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c, other := newClient(t, e), newClient(t, e)
		e.loseReplies(func(c call) error {
			if c.method == "Take" {
				return errLost
			}
			return nil
		})
		_, err := c.Mutex("order").Lock(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		e.loseReplies(nil)
		began := time.Now()
		release(t, take(t, other.Mutex("order").Lock))
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("the name was free after %v", took)
		}
		time.Sleep(2 * leasehold.DefaultTTL) // the clean-up ends
	})
}

func TestAReleaseThatIsNotConfirmed(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.Mutex("order").Lock)
		e.fail(func(c call) error {
			if c.method == "Release" {
				return errLost
			}
			return nil
		})
		err := lease.Release()
		expectOnly(t, err, leasehold.ErrUnknown)
		expect(t, err, errLost)
		if again := lease.Release(); again != err {
			t.Errorf("the second Release returns %v", again)
		}
		wantCause(t, lease.Context(), leasehold.ErrReleased)
		e.fail(nil) // the release is repeated in the background
		began := time.Now()
		release(t, take(t, newClient(t, e).Mutex("order").Lock))
		if took := time.Since(began); took > time.Second {
			t.Errorf("the name was free after %v", took)
		}
	})
}

func TestAReleaseThatComesTooLate(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		lease := take(t, c.Mutex("order").Lock)
		expect(t, admin.New(e).ForceRelease(t.Context(), driver.Lock, "order", lease.Token()), nil)
		next := take(t, newClient(t, e).Mutex("order").Lock)
		expectOnly(t, lease.Release(), leasehold.ErrLost)
		wantCause(t, next.Context(), nil)
		release(t, next)
	})
}

func TestWhatTheEngineCannotDo(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Shared, e.can.Semaphores, e.plain = false, false, true
		c := newClient(t, e)
		lease := take(t, c.Mutex("order").Lock)
		requests := e.sent()
		_, rlock := c.RWMutex("order").RLock(t.Context())
		_, wlock := c.RWMutex("order").Lock(t.Context())
		_, acquire := c.Semaphore("order", 1).Acquire(t.Context(), 1)
		_, set := c.Latch("order").TrySet(t.Context(), 1)
		_, down := c.Latch("order").CountDown(t.Context())
		for _, err := range []error{
			rlock, wlock, acquire, set, down, c.Latch("order").Wait(t.Context()), lease.Downgrade(t.Context()),
		} {
			expectOnly(t, err, leasehold.ErrUnsupported)
		}
		if e.sent() != requests {
			t.Error("something was sent to the engine")
		}
	})
}

// An engine that wraps another has all methods, and they say what the other lacks.
func TestWhatAWrappedEngineCannotDo(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		none := func(drivertest.Op) drivertest.Fault { return drivertest.Fault{} }
		c := newClient(t, drivertest.NewFaulty(struct{ driver.Engine }{e}, none))
		_, err := c.Latch("order").TrySet(t.Context(), 1)
		expectOnly(t, err, leasehold.ErrUnsupported)
		expectOnly(t, c.Latch("order").Wait(t.Context()), leasehold.ErrUnsupported)
		set, err := c.LockAll(t.Context(), "a", "b")
		expect(t, err, nil)
		expect(t, set.Release(), nil)
	})
}

func TestAnErrorSaysWhichCallFailedOnWhatAndWhy(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		e.fail(func(call) error { return errLost })
		_, err := c.Semaphore("rooms\n", 3).Acquire(t.Context(), 2)
		var detail *leasehold.Error
		if !errors.As(err, &detail) {
			t.Fatalf("got a %T", err)
		}
		if detail.Op != "acquire" || detail.Kind != driver.Semaphore || detail.Name != "rooms\n" {
			t.Errorf("got %+v", detail)
		}
		const want = `leasehold: acquire semaphore "rooms\n": engine not available: connection reset`
		if err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
		_, err = c.Election("boss").Leader(t.Context())
		const wantLeader = `leasehold: find the leader of lock "boss": engine not available: connection reset`
		if got := err.Error(); got != wantLeader {
			t.Errorf("got %s", got)
		}
	})
}

// Callers that set no limit of their own need not know that there is one inside.
func TestAHangingEngineIsNotTheCallersDeadline(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		if e.can.Local {
			t.Skip("a local engine answers at once, by contract")
		}
		c := newClient(t, e, leasehold.WithRequestTimeout(time.Second))
		resume := make(chan struct{})
		e.fail(func(call) error { <-resume; return errLost })
		began := time.Now()
		_, err := c.Mutex("order").Lock(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		if !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("the error does not say what is wrong: %s", err)
		}
		_, err = c.Election("boss").Leader(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("two requests of at most 1s took %v", took)
		}
		e.fail(nil)
		close(resume)
	})
}
