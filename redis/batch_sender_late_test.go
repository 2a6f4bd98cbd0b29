package redis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// answerAfter grants what a script asks for once a channel is closed, and lets it wait until then.
func answerAfter(until <-chan struct{}) func(*sentScript) (any, error) {
	return func(s *sentScript) (any, error) {
		<-until
		return granted(s)
	}
}

// checkGaveUp fails the test unless a request was given up at this moment, and reported once.
func (o *outcome) checkGaveUp(t *testing.T, what string, at time.Time, noEffect bool) {
	t.Helper()
	synctest.Wait()
	switch n := o.times.Load(); {
	case n != 1:
		t.Errorf("%s: done was called %d times", what, n)
	case !errors.Is(o.err, context.DeadlineExceeded) || driver.HadNoEffect(o.err) != noEffect || !o.at.Equal(at):
		t.Errorf("%s: %v (had no effect: %v), %v after the deadline", what, o.err, driver.HadNoEffect(o.err),
			o.at.Sub(at))
	}
}

// A request without an answer is given up at its deadline, whatever the client does. If it was sent, its outcome is
// unknown; if it was not, it had no effect. What late answers grant is released, and new
// requests succeed.
func TestOverdueSendersAreGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		bt := newBatcherTest(t, answerAfter(thaw))
		var sent, queued []*outcome
		end := time.Now().Add(time.Second)
		for range maxSenders {
			sent = append(sent, bt.take(time.Second))
			synctest.Wait()
		}
		for range 5 {
			queued = append(queued, bt.take(time.Second), bt.release(time.Second))
		}
		time.Sleep(time.Second)
		for _, o := range sent {
			o.checkGaveUp(t, "sent", end, false)
		}
		for _, o := range queued {
			o.checkGaveUp(t, "queued", end, true)
		}
		close(thaw)
		synctest.Wait()
		for _, o := range append(sent, queued...) {
			if n := o.times.Load(); n != 1 {
				t.Errorf("done was called %d times", n)
			}
		}
		if _, busy, overdue := bt.e.batcher.Load(); overdue != 0 || busy != 0 {
			t.Errorf("%d senders are overdue, %d busy, when all have returned", overdue, busy)
		}
		if o := bt.take(time.Second); true {
			<-o.done
			if o.err != nil {
				t.Errorf("when the server answers again: %v", o.err)
			}
		}
		bt.close()
	})
}

// A server that does not answer gets a limited number of requests. Further callers learn at once that nothing was sent.
func TestOverdueSendersAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thaw := make(chan struct{})
		bt := newBatcherTest(t, answerAfter(thaw))
		for range maxOverdue {
			bt.take(time.Second)
			synctest.Wait()
			time.Sleep(time.Second)
		}
		bt.take(time.Minute).checkGaveUp(t, "a take that comes later", time.Now(), true)
		bt.release(time.Minute).checkGaveUp(t, "a release that comes later", time.Now(), true)
		if bt.maxInFlight != maxOverdue {
			t.Errorf("%d requests were in flight, want %d", bt.maxInFlight, maxOverdue)
		}
		close(thaw)
		synctest.Wait()
		if _, _, overdue := bt.e.batcher.Load(); overdue != 0 {
			t.Errorf("%d senders are overdue when all have returned", overdue)
		}
		bt.close()
	})
}
