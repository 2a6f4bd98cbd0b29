package leaseholdotel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/otel"
)

func TestALeaseIsTwoSpans(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		held := w.holdElsewhere("order:1")
		time.AfterFunc(2*time.Second, func() { held.Release() })
		began := time.Now()
		lease := w.lock(w.client.Mutex("order:1", leasehold.Label("order")))
		time.Sleep(3 * time.Second)
		w.release(lease)

		acquire, hold := w.span("lock.acquire"), w.span("lock.hold")
		for _, s := range []sdk.ReadOnlySpan{acquire, hold} {
			if s.Parent().SpanID() != w.caller.SpanID() || s.SpanContext().TraceID() != w.caller.TraceID() {
				t.Errorf("%s is no child of the caller's span", s.Name())
			}
			if value(s, leaseholdotel.Name).AsString() != "order:1" ||
				value(s, leaseholdotel.Kind).AsString() != "lock" ||
				value(s, leaseholdotel.Resource).AsString() != "order" ||
				value(s, leaseholdotel.Shared).AsBool() ||
				value(s, leaseholdotel.Token).AsInt64() != int64(lease.Token()) {
				t.Errorf("%s has %v", s.Name(), s.Attributes())
			}
			wantStatus(t, s, codes.Unset)
		}
		if links := hold.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != acquire.SpanContext().SpanID() {
			t.Errorf("lock.hold links to %v", links)
		}
		if value(acquire, leaseholdotel.Waited).AsFloat64() != 2 || value(acquire, leaseholdotel.HandedOver).AsBool() {
			t.Errorf("lock.acquire has %v", acquire.Attributes())
		}
		granted := began.Add(2 * time.Second)
		if !acquire.StartTime().Equal(began) || !acquire.EndTime().Equal(granted) || !hold.StartTime().Equal(granted) ||
			!hold.EndTime().Equal(granted.Add(3*time.Second)) {
			t.Errorf("from %s to %s, and from %s to %s", acquire.StartTime(), acquire.EndTime(), hold.StartTime(),
				hold.EndTime())
		}
	})
}

func TestFailedCalls(t *testing.T) {
	for reason, c := range map[string]struct {
		ask    func(w *testClient, m *leasehold.Mutex) error
		is     error
		status codes.Code
	}{
		"held": {func(w *testClient, m *leasehold.Mutex) error {
			_, err := m.TryLock(w.ctx)
			return err
		}, leasehold.ErrHeld, codes.Unset},
		"timeout": {func(w *testClient, m *leasehold.Mutex) error {
			_, err := m.Lock(w.ctx)
			return err
		}, leasehold.ErrTimeout, codes.Error},
		"cancelled": {func(w *testClient, m *leasehold.Mutex) error {
			ctx, cancel := context.WithCancelCause(w.ctx)
			// as if it were the context of another lease
			time.AfterFunc(time.Second, func() { cancel(leasehold.ErrLost) })
			_, err := m.Lock(ctx)
			return err
		}, context.Canceled, codes.Error},
		"deadline": {func(w *testClient, m *leasehold.Mutex) error {
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			_, err := m.Lock(ctx)
			return err
		}, context.DeadlineExceeded, codes.Error},
		"unavailable": {func(w *testClient, m *leasehold.Mutex) error {
			w.unanswered(drivertest.Take)
			_, err := m.Lock(w.ctx)
			return err
		}, leasehold.ErrUnavailable, codes.Error},
		"closed": {func(w *testClient, m *leasehold.Mutex) error {
			w.client.Close()
			_, err := m.Lock(w.ctx)
			return err
		}, leasehold.ErrClosed, codes.Error},
		"ended": {func(w *testClient, _ *leasehold.Mutex) error {
			m := w.client.Mutex("order:2")
			lease := w.lock(m)
			lease.Release()
			_, err := m.Lock(context.WithoutCancel(lease.Context()))
			return err
		}, leasehold.ErrReleased, codes.Error},
		"upgrade": {func(w *testClient, _ *leasehold.Mutex) error {
			m := w.client.RWMutex("order:2")
			lease, err := m.RLock(w.ctx)
			if err != nil {
				return err
			}
			defer lease.Release()
			_, err = m.Lock(lease.Context())
			return err
		}, leasehold.ErrUpgrade, codes.Error},
	} {
		t.Run(reason, func(t *testing.T) {
			withTestClient(t, func(t *testing.T, w *testClient) {
				w.holdElsewhere("order:1")
				began := time.Now()
				if err := c.ask(w, w.client.Mutex("order:1", leasehold.WaitLimit(time.Minute))); !errors.Is(err, c.is) {
					t.Fatalf("got %v, want %v", err, c.is)
				}
				all := w.spans("lock.acquire")
				s := all[len(all)-1]
				wantStatus(t, s, c.status)
				if got := value(s, leaseholdotel.Reason).AsString(); got != reason {
					t.Errorf("reason %q, want %q", got, reason)
				}
				if took := time.Since(began); s.EndTime().Sub(s.StartTime()) != took ||
					value(s, leaseholdotel.Waited).AsFloat64() != took.Seconds() {
					t.Errorf("it took %s; the span is from %s to %s, with %v", took, s.StartTime(), s.EndTime(),
						s.Attributes())
				}
				if s.Parent().SpanID() != w.caller.SpanID() {
					t.Error("the span is no child of the caller's")
				}
				w.client.Close()
				if n := len(w.spans("lock.hold")); n != len(all)-1 { // one for each lease that the call has found
					t.Errorf("there are %d spans of leases, want %d", n, len(all)-1)
				}
			})
		})
	}
}

func TestHandOverHasSpansOfItsOwn(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		m := w.client.Mutex("order")
		held := w.lock(m)
		for range 3 {
			go func() {
				if lease, err := m.Lock(w.ctx); err == nil {
					lease.Release()
				}
			}()
		}
		synctest.Wait()
		w.release(held)
		synctest.Wait()
		handed, tokens := 0, map[int64]bool{}
		for _, s := range w.spans("lock.acquire") {
			if value(s, leaseholdotel.HandedOver).AsBool() {
				handed++
			}
		}
		for _, s := range w.spans("lock.hold") {
			tokens[value(s, leaseholdotel.Token).AsInt64()] = true
		}
		if handed == 0 || len(tokens) != 4 {
			t.Errorf("%d were handed over, and there are tokens %v", handed, tokens)
		}
	})
}

func TestReadersWithoutALabel(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		lease, err := w.client.RWMutex("order").RLock(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		w.release(lease)
		for _, s := range []sdk.ReadOnlySpan{w.span("lock.acquire"), w.span("lock.hold")} {
			if !value(s, leaseholdotel.Shared).AsBool() || value(s, leaseholdotel.Resource).AsString() != "default" {
				t.Errorf("%s has %v", s.Name(), s.Attributes())
			}
		}
	})
}

func TestReentryIsNoSpan(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		m := w.client.Mutex("order")
		lease := w.lock(m)
		inner, err := m.Lock(lease.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.release(inner)
		if len(w.spans("lock.hold")) != 0 {
			t.Error("the inner release has ended the span")
		}
		w.release(lease)
		w.span("lock.acquire")
		w.span("lock.hold")
	})
}

func TestLockAllHasSpansForEachName(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		for range 2 { // in one request, and then one after the other
			set, err := w.client.LockAll(w.ctx, "a", "b", "c")
			if err != nil {
				t.Fatal(err)
			}
			set.Release()
			held := w.holdElsewhere("b")
			time.AfterFunc(time.Second, func() { held.Release() })
		}
		seen := map[string]int{}
		for _, s := range append(w.spans("lock.acquire"), w.spans("lock.hold")...) {
			seen[s.Name()+" "+value(s, leaseholdotel.Name).AsString()]++
			if s.Parent().SpanID() != w.caller.SpanID() {
				t.Errorf("%s of %s is no child of the caller's span", s.Name(), value(s, leaseholdotel.Name).AsString())
			}
		}
		for _, of := range []string{"lock.acquire a", "lock.acquire b", "lock.acquire c", "lock.hold a", "lock.hold b",
			"lock.hold c"} {
			if seen[of] != 2 {
				t.Errorf("there are %d spans %s, want 2", seen[of], of)
			}
		}
	})
}

// Names may be private. Then no span contains them, not even in texts.
func TestNamesCanBeLeftOut(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		const name = "customer 4711"
		m := w.client.Mutex(name, leasehold.WaitLimit(time.Second))
		lease := w.lock(m)
		_, refused := m.TryLock(w.ctx)
		_, late := m.Lock(w.ctx)
		w.unanswered(drivertest.Release)
		unconfirmed := lease.Release()
		w.unanswered("")
		lost := w.lock(w.client.Mutex(name+"!", leasehold.MaxHold(time.Second)))
		<-lost.Context().Done()
		if refused == nil || late == nil || unconfirmed == nil || lost.Release() == nil {
			t.Fatal("the test has not made the client fail")
		}
		for _, s := range w.recorder.Ended() {
			if value(s, leaseholdotel.Kind).AsString() != "lock" {
				t.Errorf("%s has %v", s.Name(), s.Attributes())
			}
			text := describe(s)
			if strings.Contains(text, "4711") {
				t.Errorf("%s tells the name: %s", s.Name(), text)
			}
		}
	}, leaseholdotel.WithoutNames())
}

// Anybody who knows an owner can release what it holds. So no span contains one, whatever happens: every test of this
// package searches its spans for owners.
func TestSpansHaveNoOwners(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		m := w.client.Mutex("n", leasehold.WaitLimit(time.Second))
		lease := w.lock(m)
		_, refused := w.client.Mutex("n").TryLock(w.ctx)
		w.unanswered(drivertest.Release)
		unconfirmed := lease.Release()
		w.unanswered(drivertest.Take)
		_, unknown := w.client.Mutex("m", leasehold.WaitLimit(time.Second)).Lock(w.ctx)
		w.unanswered("")
		if refused == nil || unconfirmed == nil || unknown == nil {
			t.Fatal("the test has not made the client fail")
		}
		owners := 0
		for owner := range w.owners.Range {
			if len(owner.(string)) > 20 {
				owners++
			}
		}
		if owners < 2 || len(w.recorder.Ended()) < 3 {
			t.Errorf("%d owners and %d spans: is there nothing to look for any more?", owners, len(w.recorder.Ended()))
		}
	})
}
