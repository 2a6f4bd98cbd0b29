package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
)

// recallSpy is a spy that keeps the Recall functions of the requests that it is asked.
type recallSpy struct {
	*spy
	recalls []func() bool
}

func (e *recallSpy) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Recall != nil {
		e.recalls = append(e.recalls, r.Recall)
	}
	return e.spy.Take(ctx, r)
}

// An engine may call Recall where it must not wait, so Recall sends nothing itself, even while the client is closed.
func TestARecallDoesNotWaitForTheEngine(t *testing.T) {
	onBoth(t, func(t *testing.T, s *spy) {
		s.can.Local = false
		e := &recallSpy{spy: s}
		c := leasehold.New(e)
		for i := range 100 {
			release(t, take(t, c.Mutex(fmt.Sprint(i), leasehold.Linger(time.Hour)).Lock))
		}
		e.fail(func(c call) error {
			if c.method == "Release" {
				time.Sleep(time.Second)
			}
			return nil
		})
		closed := start(t.Context(), func(context.Context) (any, error) { return nil, c.Close() })
		synctest.Wait() // some of the releases of Close are in flight
		began := time.Now()
		for _, recall := range e.recalls {
			if recall() {
				t.Error("an idle lock counts as used")
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the recalls took %v", took)
		}
		time.Sleep(time.Minute)
		closed.wantValue(t)
		for i := range e.recalls {
			wantFree(t, s, fmt.Sprint(i))
		}
		if n := e.sent("Release"); n != len(e.recalls) {
			t.Errorf("%d releases were sent for %d locks", n, len(e.recalls))
		}
	})
}

// Idle locks leave room for those in use.
func TestIdleLocksDoNotFillAClient(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithMaxLeases(4), leasehold.WithDefaults(leasehold.Linger(time.Hour)))
		for range 2 {
			for i := range 10 {
				release(t, take(t, c.Mutex(fmt.Sprint(i)).Lock))
			}
		}
		first, second := take(t, c.Mutex("a").Lock), take(t, c.Mutex("b").Lock)
		_, err := c.Mutex("c").Lock(t.Context())
		expect(t, err, leasehold.ErrFull)
		release(t, first)
		release(t, second)
		release(t, take(t, newClient(t, e, leasehold.WithMaxLeases(1)).Mutex("d", leasehold.Linger(time.Hour)).Lock))
		time.Sleep(2 * time.Hour)
		if all, err := e.Engine.List(t.Context(), driver.Query{}); err != nil || len(all) > 0 {
			t.Errorf("the engine still has %+v, %v", all, err)
		}
	})
}

// Permits do not linger, so they reserve no tokens.
func TestAPermitReservesOneToken(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		c := newClient(t, e, leasehold.WithDefaults(leasehold.Linger(time.Hour)))
		release(t, take(t, permits(c.Semaphore("order", 3), 1)))
		if n := e.last(t, "Take").tokens; n != 1 {
			t.Errorf("a permit asks for %d tokens", n)
		}
	})
}

// aheadSpy is a spy whose tokens are microseconds of a clock that is a minute ahead.
type aheadSpy struct{ *spy }

func (e aheadSpy) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := e.spy.Take(ctx, r)
	g.Token += uint64(time.Now().Add(time.Minute).UnixMicro())
	return g, err
}

// Tokens may be ahead of this machine's clock because the clock of another is. That does not end hand-overs.
func TestTokensAheadOfTheClockAreHandedOver(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		m := newClient(t, aheadSpy{e}).Mutex("order")
		var began bool
		e.fail(func(c call) error {
			if c.method == "Take" && !began {
				began = true
				time.Sleep(time.Millisecond) // others queue up before the second take
			}
			return nil
		})
		first := take(t, m.Lock)
		waiting := queueUp(t, m.Lock, m.Lock, m.Lock)
		release(t, first)
		for _, w := range waiting {
			release(t, w.wantValue(t))
		}
		if n := e.sent("Take"); n != 2 {
			t.Errorf("%d takes were sent for four leases, want 2", n)
		}
	})
}

// Close tells of a release that ReleaseLater has begun, and that is not answered.
func TestCloseTellsOfALaterReleaseWithoutAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Local = false
		c := leasehold.New(e)
		lease := take(t, c.Mutex("order").Lock)
		e.fail(func(c call) error {
			time.Sleep(time.Second)
			return errors.New("down")
		})
		lease.ReleaseLater()
		passLeaving() // it is in flight
		expect(t, c.Close(), leasehold.ErrUnknown)
		if n := e.sent("Release"); n != 1 {
			t.Errorf("%d releases were sent", n)
		}
	})
}

// A try is told that a name is held only if that is known, and a name that is being released may become free.
func TestATryWaitsForTheReleaseThatAnotherCallSends(t *testing.T) {
	onBoth(t, func(t *testing.T, e *spy) {
		e.can.Local = false
		m := newClient(t, e).Mutex("order")
		take(t, m.Lock).ReleaseLater()
		e.fail(func(c call) error {
			time.Sleep(10 * time.Second)
			return errors.New("down")
		})
		next := start(t.Context(), m.Lock) // it sends the release
		synctest.Wait()
		_, err := m.TryLock(t.Context())
		expect(t, err, leasehold.ErrUnavailable)
		time.Sleep(time.Minute)
		next.wantErr(t, leasehold.ErrUnavailable)
		e.fail(nil)
		time.Sleep(time.Minute) // requests that were left end, and the clean-up
		wantFree(t, e, "order")
	})
}
