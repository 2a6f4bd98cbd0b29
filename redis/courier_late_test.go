package redis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// stuck is an answer that nobody gets before a channel is closed.
func stuck(until <-chan struct{}) func(*shipment) (any, error) {
	return func(s *shipment) (any, error) {
		<-until
		return granted(s)
	}
}

// gaveUp fails the test unless an errand was given up at a moment, once.
func (o *outcome) gaveUp(t *testing.T, what string, at time.Time, noEffect bool) {
	t.Helper()
	synctest.Wait()
	switch n := o.times.Load(); {
	case n != 1:
		t.Errorf("%s: done was called %d times", what, n)
	case !errors.Is(o.err, context.DeadlineExceeded) || driver.HadNoEffect(o.err) != noEffect || !o.at.Equal(at):
		t.Errorf("%s: %v (had no effect: %v), %v late", what, o.err, driver.HadNoEffect(o.err), o.at.Sub(at))
	}
}

// What the server does not answer is given up at the deadline, whatever the client does. What was sent has an unknown outcome, and what was not has
// had no effect. When the server answers again, nobody hears of the old answers, and all is well.
func TestLateCouriersAreGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		d := newDesk(t, stuck(thaw))
		var sent, queued []*outcome
		end := time.Now().Add(time.Second)
		for range mostBusy {
			sent = append(sent, d.take(time.Second))
			synctest.Wait()
		}
		for range 5 {
			queued = append(queued, d.take(time.Second), d.release(time.Second))
		}
		time.Sleep(time.Second)
		for _, o := range sent {
			o.gaveUp(t, "sent", end, false)
		}
		for _, o := range queued {
			o.gaveUp(t, "queued", end, true)
		}
		close(thaw)
		synctest.Wait()
		for _, o := range append(sent, queued...) {
			if n := o.times.Load(); n != 1 {
				t.Errorf("done was called %d times", n)
			}
		}
		if c := &d.e.couriers; c.late != 0 || c.busy != 0 {
			t.Errorf("%d couriers are late, %d busy, when all have come back", c.late, c.busy)
		}
		if o := d.take(time.Second); true {
			<-o.done
			if o.err != nil {
				t.Errorf("when the server answers again: %v", o.err)
			}
		}
		d.close()
	})
}

// Those who wait behind couriers that are late have others sent for them.
func TestOthersGoForThoseWhoAreLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		d := newDesk(t, nil)
		d.answer = func(s *shipment) (any, error) {
			if len(d.sent()) <= mostBusy {
				<-thaw
			}
			return granted(s)
		}
		for range mostBusy {
			d.take(100 * time.Millisecond)
			synctest.Wait()
		}
		began, o := time.Now(), d.take(time.Minute)
		<-o.done
		if o.err != nil || o.at.Sub(began) != 100*time.Millisecond {
			t.Errorf("%v after %v, want an answer as soon as the others are given up", o.err, o.at.Sub(began))
		}
		close(thaw)
		d.close()
	})
}

// A server that answers nothing gathers no more than some requests. Who comes then is told at once that nothing was sent, and so are those who wait.
func TestNotEverMoreCouriersAreLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		d := newDesk(t, stuck(thaw))
		for range mostLate - 1 {
			d.take(time.Second)
			synctest.Wait()
			time.Sleep(time.Second)
		}
		last, end := d.take(time.Second), time.Now().Add(time.Second)
		synctest.Wait()
		waiting := []*outcome{d.take(time.Minute), d.release(time.Minute)}
		time.Sleep(time.Second)
		last.gaveUp(t, "the last who is sent", end, false)
		for _, o := range waiting {
			o.gaveUp(t, "who waits", end, true)
		}
		d.take(time.Second).gaveUp(t, "who comes", time.Now(), true)
		d.release(time.Second).gaveUp(t, "who comes", time.Now(), true)
		if d.most != mostLate {
			t.Errorf("%d requests were under way, want %d", d.most, mostLate)
		}
		close(thaw)
		synctest.Wait()
		if o := d.take(time.Second); true {
			<-o.done
			if o.err != nil {
				t.Errorf("when the server answers again: %v", o.err)
			}
		}
		if c := &d.e.couriers; c.late != 0 {
			t.Errorf("%d couriers are late when all have come back", c.late)
		}
		d.close()
	})
}
