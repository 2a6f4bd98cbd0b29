package leasehold_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

// remote returns an engine that is reached as a server is. Its takes wait until the returned channel is closed.
func remote() (_ *spy, hold chan struct{}) {
	e, hold := newSpy(), make(chan struct{})
	e.can.Local = false
	e.fail(func(c call) error {
		if c.method == "Take" {
			<-hold
		}
		return nil
	})
	return e, hold
}

// An engine may serve callers that cannot cancel without a goroutine, if its client observes deadlines.
func TestEngineIsToldWhichCallersCannotCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, hold := remote()
		close(hold)
		c := newClient(t, e)
		for range 3 { // requests share contexts
			release(t, take(t, c.Mutex("a").Lock))
			if driver.IsDeadlineOnly(e.last(t, "Take").ctx) {
				t.Error("a caller that may cancel counts as one that cannot")
			}
			lease, err := c.Mutex("a").Lock(context.Background())
			noErr(t, err)
			release(t, lease)
			if !driver.IsDeadlineOnly(e.last(t, "Take").ctx) {
				t.Error("a caller that cannot cancel counts as one that may")
			}
		}
	})
}

// An answer that comes when its caller has given up goes to nobody else.
func TestLateAnswersToTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, hold := remote()
		c := newClient(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		gone := start(ctx, c.Mutex("a").Lock)
		synctest.Wait()
		cancel()
		gone.wantErr(t, context.Canceled)
		close(hold)
		if lease := take(t, c.Mutex("b").Lock); lease.Name() != "b" {
			t.Errorf("got %q", lease.Name())
		}
		time.Sleep(time.Minute) // the clean-up
		free, err := admin.New(e).Inspect(t.Context(), "a")
		if err != nil || len(free) != 0 {
			t.Errorf("what nobody waited for is left: %+v, %v", free, err)
		}
	})
}

// A caller waits no longer than a request may take.
func TestTakesHaveALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, hold := remote()
		c := newClient(t, e, leasehold.WithRequestTimeout(2*time.Second))
		began := time.Now()
		_, err := c.Mutex("a").TryLock(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		if took := time.Since(began); took > 2*time.Second || took < 2*time.Second-20*time.Millisecond {
			t.Errorf("gave up after %v", took)
		}
		close(hold)
		time.Sleep(time.Minute)
	})
}

// A limit of the caller's that comes before that of the request is reported as the caller's, even if both are noticed
// at the same moment: nobody has said that the name is held.
func TestTakesEndWithTheWaitLimit(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			e, hold := remote()
			c := newClient(t, e)
			_, err := c.Mutex("a", leasehold.WaitLimit(100*time.Millisecond)).Lock(t.Context())
			expectOnly(t, err, leasehold.ErrUnavailable)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err = c.Mutex("b").Lock(ctx)
			expectOnly(t, err, context.DeadlineExceeded, leasehold.ErrUnavailable)
			close(hold)
			time.Sleep(time.Minute)
		})
	}
}

// The same on an engine that gives up at the deadline, and not when the context ends.
func TestTakesThatGiveUpAtTheDeadlineEndWithTheWaitLimit(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			e := newSpy()
			e.can.Local = false
			e.fail(func(c call) error {
				if c.method != "Take" {
					return nil
				}
				end, _ := c.ctx.Deadline()
				time.Sleep(time.Until(end))
				return context.DeadlineExceeded
			})
			_, err := newClient(t, e).Mutex("a", leasehold.WaitLimit(100*time.Millisecond)).Lock(t.Context())
			expectOnly(t, err, leasehold.ErrUnavailable)
			e.fail(nil)
			time.Sleep(time.Minute)
		})
	}
}
