package redis

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/leasehold-go/leasehold/driver"
)

// Callers that leave a server that hangs cannot fill the process with calls: those that were left still count, so that
// the batcher, which has few senders, gets the requests of the next callers. What was granted late is released.
func TestFreeRequestsThatWereLeftCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		bt := newBatcherTest(t, answerAfter(thaw))
		for range 20 {
			ctx, cancel := context.WithCancel(context.Background())
			left := make(chan error, 1)
			go func() {
				_, err := bt.e.Take(ctx, newRequest())
				left <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-left; !driver.IsSpent(err) && !driver.HadNoEffect(err) {
				t.Errorf("the caller left with %v, want an error that is spent or had no effect", err)
			}
		}
		if n := len(bt.sent()); n != maxAlone+maxSenders {
			t.Errorf("%d requests were sent, want %d", n, maxAlone+maxSenders)
		}
		close(thaw)
		synctest.Wait()
		requests := 0
		for _, n := range bt.sent() {
			requests += n
		}
		if released := requests - maxAlone - maxSenders; released != maxAlone+maxSenders {
			t.Errorf("%d of %d late grants were released", released, maxAlone+maxSenders)
		}
		if n := bt.e.alone.Load(); n != 0 {
			t.Errorf("%d calls still count after all have ended", n)
		}
		bt.close()
	})
}

// A request whose context has ended before is not sent, and does not count.
func TestFreeRequestOfAnEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bt := newBatcherTest(t, granted)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for range 3 * maxAlone {
			if _, err := bt.e.Take(ctx, newRequest()); !driver.HadNoEffect(err) && !driver.IsSpent(err) {
				t.Errorf("the error is %v, want one that is spent or had no effect", err)
			}
			synctest.Wait()
		}
		if n, sent := bt.e.alone.Load(), len(bt.sent()); n != 0 || sent != 0 {
			t.Errorf("%d requests count, and %d were sent", n, sent)
		}
		bt.close()
	})
}
