package leasehold_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
)

func waitFor(l *leasehold.Latch) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, l.Wait(ctx) }
}

func set(t *testing.T, l *leasehold.Latch, n int, want bool) {
	t.Helper()
	did, err := l.TrySet(t.Context(), n)
	if err != nil || did != want {
		t.Fatalf("TrySet(%d) returned %v, %v, want %v", n, did, err, want)
	}
}

func countDown(t *testing.T, l *leasehold.Latch, want int) {
	t.Helper()
	if left, err := l.CountDown(t.Context()); err != nil || left != want {
		t.Fatalf("CountDown returned %d, %v, want %d", left, err, want)
	}
}

func wantCount(t *testing.T, l *leasehold.Latch, want int) {
	t.Helper()
	if left, err := l.Count(t.Context()); err != nil || left != want {
		t.Fatalf("Count returned %d, %v, want %d", left, err, want)
	}
}

func TestALatchLetsGoAtZero(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Latch("start"), newClient(t, e).Latch("start")
		set(t, here, 2, true)
		local, remote := start(t.Context(), waitFor(here)), start(t.Context(), waitFor(there))
		countDown(t, there, 1)
		wantCount(t, here, 1)
		local.wantWaiting(t)
		remote.wantWaiting(t)
		countDown(t, here, 0)
		local.wantValue(t)
		remote.wantValue(t)
		expect(t, there.Wait(t.Context()), nil) // a later caller does not wait
	})
}

func TestALatchStopsAtZero(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		set(t, l, 1, true)
		for range 3 {
			countDown(t, l, 0)
		}
		wantCount(t, l, 0)
	})
}

func TestALatchThatIsNotSet(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		_, err := l.CountDown(t.Context())
		expectOnly(t, err, leasehold.ErrNotSet)
		_, err = l.Count(t.Context())
		expectOnly(t, err, leasehold.ErrNotSet)
		expectOnly(t, l.Wait(t.Context()), leasehold.ErrNotSet)
	})
}

func TestOnlyOneSetsALatch(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		here, there := newClient(t, e).Latch("start"), newClient(t, e).Latch("start")
		set(t, here, 2, true)
		set(t, there, 7, false)
		set(t, here, 7, false)
		wantCount(t, there, 2)
	})
}

// Waiting is for the count of that moment, even if the latch is set anew before the waiter polls again.
func TestALatchCanBeSetAgainFromZero(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("round")
		set(t, l, 1, true)
		first := start(t.Context(), waitFor(l))
		first.wantWaiting(t)
		countDown(t, l, 0)
		set(t, l, 2, true)
		first.wantValue(t)

		second := start(t.Context(), waitFor(l))
		countDown(t, l, 1)
		second.wantWaiting(t)
		countDown(t, l, 0)
		second.wantValue(t)
	})
}

func TestALatchIsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start", leasehold.TTL(time.Minute))
		set(t, l, 3, true)
		waiting := start(t.Context(), waitFor(l))
		time.Sleep(50 * time.Second)
		countDown(t, l, 2) // its ttl of a minute starts here
		time.Sleep(50 * time.Second)
		waiting.wantWaiting(t)
		time.Sleep(11 * time.Second)
		waiting.wantErr(t, leasehold.ErrNotSet)
		_, err := l.CountDown(t.Context())
		expect(t, err, leasehold.ErrNotSet)
		set(t, l, 1, true)
	})
}

func TestWaitingForALatchEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e)
		set(t, c.Latch("start"), 1, true)
		began := time.Now()
		expectOnly(t, c.Latch("start", leasehold.WaitLimit(time.Second)).Wait(t.Context()), leasehold.ErrTimeout)
		if took := time.Since(began); took != time.Second {
			t.Errorf("a wait limit of 1s took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expectOnly(t, c.Latch("start", leasehold.WaitLimit(time.Hour)).Wait(ctx), context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(t.Context())
		waiting := start(ctx, waitFor(c.Latch("start")))
		waiting.wantWaiting(t)
		cancel()
		waiting.settle()
		expectOnly(t, waiting.err, context.Canceled)
	})
}

// The limit is for the whole call, whichever of its requests hangs. If it is the first, the engine has said nothing.
func TestTheWaitLimitOfALatchHoldsWhenTheEngineHangs(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start", leasehold.WaitLimit(time.Second))
		set(t, l, 1, true)
		for method, want := range map[string]error{"LatchState": leasehold.ErrUnavailable,
			"WaitLatch": leasehold.ErrTimeout} {
			resume := make(chan struct{})
			e.fail(func(c call) error {
				if c.method == method {
					<-resume
				}
				return nil
			})
			began := time.Now()
			expectOnly(t, l.Wait(t.Context()), want)
			if took := time.Since(began); took != time.Second {
				t.Errorf("%s hangs: took %v", method, took)
			}
			close(resume)
		}
	})
}

func TestACountDownWhoseReplyIsLostCountsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		set(t, l, 3, true)
		lost := 0
		e.loseReplies(func(c call) error {
			if c.method == "CountDown" && lost < 2 {
				lost++
				return errLost
			}
			return nil
		})
		countDown(t, l, 2)
		if lost != 2 || e.sent("CountDown") != 3 {
			t.Errorf("%d replies were lost, %d requests sent", lost, e.sent("CountDown"))
		}
		countDown(t, l, 1) // another call is another count
	})
}

func TestASetWhoseReplyIsLostStillSaysYes(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		lost := 0
		e.loseReplies(func(c call) error {
			if c.method == "TrySet" && lost == 0 {
				lost++
				return errLost
			}
			return nil
		})
		set(t, l, 3, true)
		wantCount(t, l, 3)
	})
}

func TestALatchOnAnEngineThatDoesNotAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		set(t, l, 1, true)
		waiting := start(t.Context(), waitFor(l))
		waiting.wantWaiting(t)
		e.fail(func(call) error { return errLost })
		began := time.Now()
		_, err := l.CountDown(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		if took := time.Since(began); took > 2*leasehold.DefaultRequestTimeout {
			t.Errorf("it was given up after %v", took)
		}
		waiting.wantWaiting(t) // the engine still has its request
		e.fail(nil)
		countDown(t, l, 0)
		waiting.wantValue(t)
	})
}

func TestWaitingForALatchSurvivesAShortOutage(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		set(t, l, 1, true)
		failed := 0
		e.fail(func(c call) error {
			if c.method == "WaitLatch" && failed < 3 {
				failed++
				return errLost
			}
			return nil
		})
		waiting := start(t.Context(), waitFor(l))
		time.Sleep(4 * time.Second)
		waiting.wantWaiting(t)
		countDown(t, l, 0)
		waiting.wantValue(t)
		if failed != 3 {
			t.Errorf("%d requests failed", failed)
		}
	})
}

func TestAPermanentErrorOfALatchIsReportedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		l := newClient(t, e).Latch("start")
		e.fail(func(call) error { return permanent })
		began := time.Now()
		_, err := l.CountDown(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		if took := time.Since(began); took != 0 || e.sent() != 1 {
			t.Errorf("took %v and %d requests", took, e.sent())
		}
	})
}
