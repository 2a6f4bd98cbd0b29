package leaseholdotel_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	leaseholdotel "github.com/leasehold-go/leasehold/otel"
)

func TestHowLeasesEnd(t *testing.T) {
	const ttl = 9 * time.Second
	for name, c := range map[string]struct {
		end     func(t *testing.T, w *testClient)
		status  codes.Code
		loss    string
		outcome string
	}{
		"release": {end: func(t *testing.T, w *testClient) { w.release(w.lock(w.client.Mutex("n"))) }, outcome: "ok"},
		"close": {end: func(t *testing.T, w *testClient) {
			w.lock(w.client.Mutex("n"))
			w.client.Close()
		}, outcome: "ok"},
		"release that is not confirmed": {end: func(t *testing.T, w *testClient) {
			lease := w.lock(w.client.Mutex("n"))
			w.unanswered(drivertest.Release)
			lease.Release()
		}, status: codes.Error, outcome: "unknown"},
		"taken away, and not noticed before the release": {end: func(t *testing.T, w *testClient) {
			lease := w.lock(w.client.Mutex("n"))
			if err := admin.New(w.engine).ForceRelease(w.ctx, driver.Lock, "n", lease.Token()); err != nil {
				t.Fatal(err)
			}
			lease.Release()
		}, status: codes.Error, outcome: "lost"},
		"taken away": {end: func(t *testing.T, w *testClient) {
			lease := w.lock(w.client.Mutex("n"))
			if err := admin.New(w.engine).ForceRelease(w.ctx, driver.Lock, "n", lease.Token()); err != nil {
				t.Fatal(err)
			}
			<-lease.Context().Done()
			runtime.KeepAlive(lease)
		}, status: codes.Error, loss: "refused", outcome: "lost"},
		"not renewed": {end: func(t *testing.T, w *testClient) {
			lease := w.lock(w.client.Mutex("n", leasehold.TTL(ttl)))
			w.unanswered(drivertest.Renew)
			<-lease.Context().Done()
			runtime.KeepAlive(lease)
		}, status: codes.Error, loss: "deadline", outcome: "lost"},
		"held for too long": {end: func(t *testing.T, w *testClient) {
			lease := w.lock(w.client.Mutex("n", leasehold.MaxHold(time.Minute)))
			<-lease.Context().Done()
			runtime.KeepAlive(lease)
		}, status: codes.Error, loss: "max_hold", outcome: "lost"},
		"dropped": {end: func(t *testing.T, w *testClient) {
			func() { w.lock(w.client.Mutex("n", leasehold.TTL(ttl))) }()
			time.Sleep(ttl / 2)
			for range 100 {
				runtime.GC()
				time.Sleep(ttl / 20)
			}
		}, status: codes.Error, loss: "dropped", outcome: "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			withTestClient(t, func(t *testing.T, w *testClient) {
				c.end(t, w)
				synctest.Wait() // the waiting call learns of the end of its context before the observer does
				s := w.span("lock.hold")
				wantStatus(t, s, c.status)
				loss, outcome := value(s, leaseholdotel.Loss).AsString(), value(s, leaseholdotel.Outcome).AsString()
				if loss != c.loss || outcome != c.outcome {
					t.Errorf("loss %q and outcome %q, want %q and %q", loss, outcome, c.loss, c.outcome)
				}
				names := events(s)
				if lost := len(names) > 0 && names[len(names)-1] == "lost"; lost != (c.loss != "") {
					t.Errorf("events %v", names)
				}
			})
		})
	}
}

func TestRenewalsAndDangerAreEvents(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		lease := w.lock(w.client.Mutex("n", leasehold.TTL(9*time.Second)))
		time.Sleep(4 * time.Second) // one renewal
		w.unanswered(drivertest.Renew)
		time.Sleep(6 * time.Second) // the next ones fail, until a third is left
		w.unanswered("")
		time.Sleep(2 * time.Second)
		w.release(lease)
		s := w.span("lock.hold")
		if got := fmt.Sprint(events(s)); got != "[renewed renewal failed in danger renewed]" {
			t.Errorf("events %s", got)
		}
		for _, e := range s.Events() {
			left := within(e.Attributes, leaseholdotel.Left).AsFloat64() // times are kept in milliseconds
			if e.Name == "in danger" && (left < 2.8 || left > 3.001) || left <= 0 || left > 9 {
				t.Errorf("%s: %v s are left", e.Name, left)
			}
		}
		if n := value(s, leaseholdotel.Renewals).AsInt64(); n != 2 {
			t.Errorf("%d renewals", n)
		}
		if n := value(s, leaseholdotel.FailedRenewals).AsInt64(); n < 2 {
			t.Errorf("%d failed renewals", n)
		}
	})
}

// A leader may stay leader for months. Its span shows that it was in danger, and not a thousand routine renewals.
func TestALongHoldKeepsEventsOfFailures(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		lease := w.lock(w.client.Mutex("n", leasehold.TTL(9*time.Second)))
		time.Sleep(10 * time.Minute)
		w.unanswered(drivertest.Renew)
		time.Sleep(6200 * time.Millisecond)
		w.unanswered("")
		time.Sleep(time.Hour)
		w.release(lease)
		s := w.span("lock.hold")
		danger := 0
		for _, name := range events(s) {
			if name == "in danger" {
				danger++
			}
		}
		if n := len(s.Events()); danger != 1 || n > 40 || s.DroppedEvents() != 0 {
			t.Errorf("%d events, %d of them of danger, and %d dropped", n, danger, s.DroppedEvents())
		}
		if names := events(s); len(names) == 0 || names[len(names)-1] != "renewed" {
			t.Errorf("events %v, want one in the end that the trouble is over", names)
		}
		if n := value(s, leaseholdotel.Renewals).AsInt64(); n < 1000 {
			t.Errorf("%d renewals in an hour", n)
		}
	})
}

// The document describes all attributes and events.
func TestTheDocumentHasAllAttributes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/tracing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []attribute.Key{
		leaseholdotel.Name, leaseholdotel.Kind, leaseholdotel.Shared, leaseholdotel.Resource, leaseholdotel.Token,
		leaseholdotel.Waited, leaseholdotel.HandedOver,
		leaseholdotel.Reason, leaseholdotel.Outcome, leaseholdotel.Loss, leaseholdotel.Renewals,
		leaseholdotel.FailedRenewals, leaseholdotel.Left,
		"renewed", "renewal failed", "in danger", "lost",
	} {
		if !strings.Contains(string(text), "`"+string(key)+"`") {
			t.Errorf("docs/tracing.md does not tell of %s", key)
		}
	}
}
