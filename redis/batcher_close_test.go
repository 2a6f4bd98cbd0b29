package redis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// When the engine is closed, requests that are not in flight fail at once, and have had no effect. Requests in flight
// get their answers. No goroutine stays.
func TestCloseWithRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		bt := newBatcherTest(t, answerAfter(thaw))
		late := bt.take(time.Second)
		time.Sleep(time.Second)
		late.checkGaveUp(t, "late", time.Now(), false)
		var sent []*outcome
		for range maxSenders {
			sent = append(sent, bt.take(time.Minute))
			synctest.Wait()
		}
		queued := []*outcome{bt.take(time.Minute), bt.release(time.Minute)}
		waits := make(chan error, 1)
		go func() {
			_, err := bt.e.Take(context.Background(), newRequest())
			waits <- err
		}()
		synctest.Wait()

		bt.close()
		after := []*outcome{bt.take(time.Minute), bt.release(time.Minute)}
		for _, o := range append(queued, after...) {
			select {
			case <-o.done:
			default:
				t.Fatal("a request that was not sent does not fail when the engine is closed")
			}
			if !errors.Is(o.err, errEngineClosed) {
				t.Errorf("not sent: %v, want %v", o.err, errEngineClosed)
			}
		}
		if err := <-waits; !errors.Is(err, errEngineClosed) {
			t.Errorf("Take that has not been sent: %v, want %v", err, errEngineClosed)
		}
		if _, err := bt.e.Take(context.Background(), newRequest()); !errors.Is(err, errEngineClosed) {
			t.Errorf("Take after Close: %v, want %v", err, errEngineClosed)
		}
		time.Sleep(time.Second)
		close(thaw)
		for _, o := range sent {
			<-o.done
			if o.err != nil {
				t.Errorf("in flight: %v", o.err)
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

// A caller that gives up withdraws a request that has not been sent.
func TestQueuedRequestsAreWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		bt := newBatcherTest(t, answerAfter(thaw))
		asks := func() (context.CancelFunc, <-chan error) {
			ctx, cancel := context.WithCancel(context.Background())
			outcome := make(chan error, 1)
			go func() {
				_, err := bt.e.Take(ctx, newRequest())
				outcome <- err
			}()
			synctest.Wait()
			return cancel, outcome
		}
		first := bt.take(time.Minute)
		synctest.Wait()
		giveUp, sent := asks()
		giveUpToo, queued := asks()
		_, stays := asks()

		began := time.Now()
		giveUp()
		giveUpToo()
		if err := <-sent; !errors.Is(err, context.Canceled) || driver.HadNoEffect(err) {
			t.Errorf("a request that was sent and given up: %v, want an unknown outcome", err)
		}
		if err := <-queued; !errors.Is(err, context.Canceled) || !driver.HadNoEffect(err) {
			t.Errorf("a request that was given up before it was sent: %v, want no effect", err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("giving up took %v", waited)
		}
		close(thaw)
		if err := <-stays; err != nil {
			t.Errorf("the request that was not given up: %v", err)
		}
		<-first.done
		synctest.Wait()
		if n := sum(bt.sent()); n != 4 {
			t.Errorf("%d requests were sent, want three takes, and the release of that which had been given up: "+
				"a withdrawn request is never sent", n)
		}
		bt.close()
	})
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}
