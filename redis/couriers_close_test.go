package redis

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// When the engine is closed, what is not under way fails at once, and has had no effect. What is under way has its answer. No goroutine stays.
func TestCloseWithErrandsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		d := newDesk(t, stuck(thaw))
		late := d.take(time.Second)
		time.Sleep(time.Second)
		late.gaveUp(t, "late", time.Now(), false)
		var sent []*outcome
		for range mostBusy {
			sent = append(sent, d.take(time.Minute))
			synctest.Wait()
		}
		queued := []*outcome{d.take(time.Minute), d.release(time.Minute)}
		waits := make(chan error, 1)
		go func() {
			_, err := d.e.Take(context.Background(), asking())
			waits <- err
		}()
		synctest.Wait()

		d.close()
		after := []*outcome{d.take(time.Minute), d.release(time.Minute)}
		for _, o := range append(queued, after...) {
			select {
			case <-o.done:
			default:
				t.Fatal("what is not under way is not told that the engine is closed")
			}
			if !errors.Is(o.err, errClosed) {
				t.Errorf("not under way: %v, want %v", o.err, errClosed)
			}
		}
		if err := <-waits; !errors.Is(err, errClosed) {
			t.Errorf("Take that has not been sent: %v, want %v", err, errClosed)
		}
		if _, err := d.e.Take(context.Background(), asking()); !errors.Is(err, errClosed) {
			t.Errorf("Take after Close: %v, want %v", err, errClosed)
		}
		time.Sleep(time.Second)
		close(thaw)
		for _, o := range sent {
			<-o.done
			if o.err != nil {
				t.Errorf("under way: %v", o.err)
			}
		}
		synctest.Wait()
		for _, o := range append(append(sent, queued...), late) {
			if n := o.times.Load(); n != 1 {
				t.Errorf("done was called %d times", n)
			}
		}
	})
}

// Couriers stay for a while in which there is nothing to do, and then go by themselves, also if nobody closes the engine.
func TestIdleCouriersGoHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, granted)
		idle := func() int {
			d.e.couriers.mu.Lock()
			defer d.e.couriers.mu.Unlock()
			return len(d.e.couriers.idle)
		}
		for range 3 {
			for range 10 { // for longer than an idle one stays
				<-d.take(time.Second).done
				time.Sleep(sweepAfter / 4)
				if n := idle(); n != 1 {
					t.Fatalf("%d couriers are idle while there is something to do now and then, want the same one each time", n)
				}
			}
			time.Sleep(2 * sweepAfter)
			if n := idle(); n != 0 {
				t.Fatalf("%d couriers are still there when there was nothing to do for a while", n)
			}
		}
		// Were one left, the test would not end.
		if err := d.client.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A caller who gives up takes back what has not been sent.
func TestErrandsAreTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		d := newDesk(t, stuck(thaw))
		asks := func() (context.CancelFunc, <-chan error) {
			ctx, cancel := context.WithCancel(context.Background())
			outcome := make(chan error, 1)
			go func() {
				_, err := d.e.Take(ctx, asking())
				outcome <- err
			}()
			synctest.Wait()
			return cancel, outcome
		}
		first := d.take(time.Minute)
		synctest.Wait()
		giveUp, sent := asks()
		giveUpToo, queued := asks()
		_, stays := asks()

		began := time.Now()
		giveUp()
		giveUpToo()
		if err := <-sent; !errors.Is(err, context.Canceled) || driver.HadNoEffect(err) {
			t.Errorf("what was sent, and given up: %v, want an unknown outcome", err)
		}
		if err := <-queued; !errors.Is(err, context.Canceled) || !driver.HadNoEffect(err) {
			t.Errorf("what was given up before it was sent: %v, want no effect", err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("who gives up is kept for %v", waited)
		}
		close(thaw)
		if err := <-stays; err != nil {
			t.Errorf("who stays: %v", err)
		}
		<-first.done
		if sent := d.sent(); !slices.Equal(sent, []int{1, 1, 1}) {
			t.Errorf("the scripts did %v errands, want three of one: what is taken back is never sent", sent)
		}
		d.close()
	})
}
