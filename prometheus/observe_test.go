package leaseholdprometheus_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

func TestGrantsWaitsAndHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		m := c.client.Mutex("order:1", leasehold.Label("order"))
		first, err := m.Lock(t.Context())
		noErr(t, err)
		got := make(chan *leasehold.Lease)
		for range 3 {
			go func() {
				lease, _ := m.Lock(t.Context())
				got <- lease
			}()
			synctest.Wait()
		}
		c.want(t, "while three wait", map[series]float64{
			{"held", "", ""}: 1, {"waiters", "", ""}: 3, {"wait_seconds", "", ""}: 1, {"hold_seconds", "", ""}: 0,
			{"grants_total", "source", "engine"}: 1, {"grants_total", "source", "process"}: 0,
		})
		time.Sleep(2 * time.Second)
		noErr(t, first.Release())
		second := <-got
		noErr(t, second.Release()) // handed over: tokens are reserved for those behind
		third := <-got
		noErr(t, third.Release())
		last := <-got
		c.want(t, "while the last holds", map[series]float64{
			{"held", "", ""}: 1, {"waiters", "", ""}: 0, {"wait_seconds", "", ""}: 4, {"hold_seconds", "", ""}: 3,
			{"grants_total", "source", "engine"}: 2, {"grants_total", "source", "process"}: 2,
			{"releases_total", "outcome", "ok"}: 3,
		})
		noErr(t, last.Release())
		c.want(t, "at the end", map[series]float64{{"held", "", ""}: 0, {"hold_seconds", "", ""}: 4})
		if waited := c.series(t, "wait_seconds",
			map[string]string{"resource": "order"}).GetHistogram(); waited.GetSampleSum() != 6 {
			t.Errorf("they have waited %v s in all, want 6", waited.GetSampleSum())
		}
	})
}

// A wait in the process that goes on at the engine is one wait.
func TestWaitHereAndThenAtTheEngine(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		ask := func(client *leasehold.Client) chan *leasehold.Lease {
			got := make(chan *leasehold.Lease, 1)
			go func() {
				lease, _ := client.Mutex("order:1", leasehold.Label("order")).Lock(t.Context())
				got <- lease
			}()
			synctest.Wait()
			return got
		}
		here := leasehold.New(c.engine, leasehold.WithObserver(c.metrics), leasehold.WithHandOver(0))
		defer here.Close()
		first, second, elsewhere := <-ask(here), ask(here), ask(leasehold.New(c.engine))
		noErr(t, first.Release())
		synctest.Wait()
		c.want(t, "while another program holds", map[series]float64{{"waiters", "", ""}: 1, {"held", "", ""}: 0})
		noErr(t, (<-elsewhere).Release())
		lease := <-second
		c.want(t, "in the end", map[series]float64{{"waiters", "", ""}: 0, {"held", "", ""}: 1})
		noErr(t, lease.Release())
	})
}

func TestFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		elsewhere, err := leasehold.New(c.engine).Mutex("order:1").Lock(t.Context())
		noErr(t, err)
		m := c.client.Mutex("order:1", leasehold.Label("order"), leasehold.WaitLimit(time.Minute))
		_, err = m.TryLock(t.Context())
		if !errors.Is(err, leasehold.ErrHeld) {
			t.Fatal(err)
		}
		_, err = m.Lock(t.Context())
		if !errors.Is(err, leasehold.ErrTimeout) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		m.Lock(ctx)
		cancel()
		m.Lock(ctx) // does not begin to wait
		ctx, cancel = context.WithCancel(t.Context())
		go m.Lock(ctx)
		synctest.Wait()
		c.want(t, "while one waits", map[series]float64{{"waiters", "", ""}: 1})
		cancel()
		synctest.Wait()
		go m.Lock(t.Context())
		synctest.Wait()
		noErr(t, c.client.Close())
		synctest.Wait()
		c.want(t, "in the end", map[series]float64{
			{"failures_total", "reason", "held"}: 1, {"failures_total", "reason", "timeout"}: 1,
			{"failures_total", "reason", "deadline"}:  2,
			{"failures_total", "reason", "cancelled"}: 1, {"failures_total", "reason", "closed"}: 1,
			{"failures_total", "reason", "unavailable"}: 0,
			{"waiters", "", ""}:                         0, {"held", "", ""}: 0, {"wait_seconds", "", ""}: 4,
		})
		noErr(t, elsewhere.Release())
	})
}

func TestRenewalsDangerAndLosses(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		m := c.client.Mutex("order:1", leasehold.Label("order"))
		lease, err := m.Lock(t.Context())
		noErr(t, err)
		time.Sleep(leasehold.DefaultTTL / 2)
		c.want(t, "after a renewal", map[series]float64{
			{"renewals_total", "outcome", "ok"}: 1, {"renewal_slack_seconds", "", ""}: 1,
			{"in_danger_total", "", ""}: 0,
		})
		noErr(t, admin.New(c.engine).ForceRelease(t.Context(), driver.Lock, "order:1", lease.Token()))
		<-lease.Context().Done()
		synctest.Wait()
		c.want(t, "after it was taken away", map[series]float64{
			{"held", "", ""}: 0, {"lost_total", "cause", "refused"}: 1, {"renewals_total", "outcome", "lost"}: 1,
			{"hold_seconds", "", ""}:          1,
			{"renewal_slack_seconds", "", ""}: 1, {"releases_total", "outcome", "ok"}: 0,
			{"releases_total", "outcome", "lost"}: 0,
		})
		if !errors.Is(lease.Release(), leasehold.ErrLost) {
			t.Error("the lease was not lost")
		}
		bounded, err := c.client.Mutex("order:2", leasehold.Label("order"),
			leasehold.MaxHold(time.Second)).Lock(t.Context())
		noErr(t, err)
		<-bounded.Context().Done()
		synctest.Wait()
		c.want(t, "after the longest hold",
			map[series]float64{{"held", "", ""}: 0, {"lost_total", "cause", "max_hold"}: 1})
		_ = bounded.Release() // it has ended
	})
}

// A release that the engine does not confirm, a renewal that it does not answer, and the danger that follows.
func TestEngineThatDoesNotAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, c *countedClient) {
		silent := leasehold.New(silentEngine{c.engine, time.Now().Add(time.Second)}, leasehold.WithObserver(c.metrics))
		m := silent.Mutex("order:1", leasehold.Label("order"))
		released, err := m.Lock(t.Context())
		noErr(t, err)
		lease, err := silent.Mutex("order:2", leasehold.Label("order")).Lock(t.Context())
		noErr(t, err)
		time.Sleep(time.Second)
		if !errors.Is(released.Release(), leasehold.ErrUnknown) {
			t.Error("the release was confirmed")
		}
		_, err = silent.Mutex("order:3", leasehold.Label("order")).Lock(t.Context())
		if !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		<-lease.Context().Done()
		synctest.Wait()
		c.want(t, "after the deadline", map[series]float64{
			{"releases_total", "outcome", "unknown"}: 1, {"failures_total", "reason", "unavailable"}: 1,
			{"in_danger_total", "", ""}: 1, {"lost_total", "cause", "deadline"}: 1, {"held", "", ""}: 0,
		})
		runtime.KeepAlive(lease) // otherwise the lease would be dropped
		unanswered, slack := c.value(t, "renewals_total", "outcome", "unknown"), c.value(t, "renewal_slack_seconds")
		if unanswered < 2 || slack != unanswered {
			t.Errorf("%v renewals without an answer, and the slack of %v", unanswered, slack)
		}
		_ = lease.Release() // it has ended
		silent.Close()
	})
}

// silentEngine is an engine that stops answering.
type silentEngine struct {
	driver.Engine
	from time.Time
}

var errMute = errors.New("no answer")

func (m silentEngine) Take(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if !time.Now().Before(m.from) {
		return driver.Grant{}, errMute
	}
	return m.Engine.Take(ctx, r)
}

func (m silentEngine) Renew(ctx context.Context, batch []driver.Renewal, report func(int, error)) {
	for i := range batch {
		report(i, errMute)
	}
}

func (m silentEngine) Release(ctx context.Context, r driver.Release) error { return errMute }

// A cause that only a newer version of the library knows is counted, too.
func TestLossOfAnotherVersion(t *testing.T) {
	t.Parallel()
	c := newCountedClient(t, "order")
	for _, how := range []leasehold.Loss{0, 99} {
		c.metrics.ObserveLost(leasehold.Lost{About: leasehold.About{Label: "order"}, How: how})
	}
	c.want(t, "at the end", map[series]float64{{"lost_total", "cause", "unknown"}: 2})
}
