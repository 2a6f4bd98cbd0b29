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

// starter counts how it was called.
type starter struct {
	*spy
	started, taken int
	hold           chan struct{} // answers of StartTake wait until it is closed
}

func (s *starter) StartTake(ctx context.Context, r driver.Request, done func(driver.Grant, error)) {
	s.started++
	hold := s.hold
	go func() {
		g, err := s.spy.Take(ctx, r)
		if hold != nil {
			<-hold
		}
		done(g, err)
	}()
}

func (s *starter) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s.taken++
	return s.spy.Take(ctx, r)
}

func starting() *starter {
	s := &starter{spy: newSpy()}
	s.can.Local, s.can.Starts, s.can.Bounded = false, true, true
	return s
}

func TestCallersWhoMayCancelAreServedWithoutAGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := starting()
		c := newClient(t, e)
		take(t, c.Mutex("a").Lock)
		if e.started != 1 || e.taken != 0 {
			t.Errorf("a context that may be cancelled: %d started, %d taken in place", e.started, e.taken)
		}
		if _, err := c.Mutex("b").Lock(context.Background()); err != nil {
			t.Fatal(err)
		}
		if e.started != 1 || e.taken != 1 {
			t.Errorf("a context without an end: %d started, %d taken in place", e.started, e.taken)
		}
		e.can.Starts = false // an engine without the ability is not called that way
		take(t, newClient(t, e).Mutex("c").Lock)
		if e.started != 1 || e.taken != 2 {
			t.Errorf("without the ability: %d started, %d taken", e.started, e.taken)
		}
	})
}

// An answer that comes when its caller has given up goes to nobody else.
func TestLateAnswersToStartedTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := starting()
		c := newClient(t, e)
		e.hold = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		gone := start(ctx, c.Mutex("a").Lock)
		synctest.Wait()
		cancel()
		gone.wantErr(t, context.Canceled)

		late := e.hold
		e.hold = make(chan struct{})
		second := start(t.Context(), c.Mutex("b").Lock)
		synctest.Wait()
		close(late) // the answer to the first
		second.wantWaiting(t)
		close(e.hold)
		if lease := second.wantValue(t); lease.Name() != "b" {
			t.Errorf("got %q", lease.Name())
		}

		e.hold = nil
		time.Sleep(time.Minute) // the clean-up
		free, err := admin.New(e).Inspect(t.Context(), "a")
		if err != nil || len(free) != 0 {
			t.Errorf("what nobody waited for is left: %+v, %v", free, err)
		}
	})
}

// A caller waits no longer than a request may take.
func TestStartedTakesHaveALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := starting()
		e.hold = make(chan struct{})
		c := newClient(t, e, leasehold.WithRequestTimeout(2*time.Second))
		began := time.Now()
		_, err := c.Mutex("a").TryLock(t.Context())
		expectOnly(t, err, leasehold.ErrUnavailable)
		if took := time.Since(began); took > 2*time.Second || took < 2*time.Second-20*time.Millisecond {
			t.Errorf("gave up after %v", took)
		}
		close(e.hold)
		time.Sleep(time.Minute)
	})
}

// A limit of the caller's that comes before that of the request is reported as the caller's, even if both are noticed
// at the same moment: nobody has said that the name is held.
func TestStartedTakesEndWithTheWaitLimit(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			e := starting()
			e.hold = make(chan struct{})
			c := newClient(t, e)
			_, err := c.Mutex("a", leasehold.WaitLimit(100*time.Millisecond)).Lock(t.Context())
			expectOnly(t, err, leasehold.ErrUnavailable)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err = c.Mutex("b").Lock(ctx)
			expectOnly(t, err, context.DeadlineExceeded, leasehold.ErrUnavailable)
			close(e.hold)
			time.Sleep(time.Minute)
		})
	}
}

// The same on an engine that is called directly, and gives up at the deadline.
func TestDirectTakesEndWithTheWaitLimit(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			e := newSpy()
			e.can.Local, e.can.Prompt = false, true
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
