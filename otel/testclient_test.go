package leaseholdotel_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/otel"
)

// testClient is a client whose spans are recorded, with an engine in virtual time and a caller inside a span of its
// own.
type testClient struct {
	t        *testing.T
	engine   *drivertest.Faulty
	broken   atomic.Pointer[drivertest.Method] // the method that the engine does not answer
	owners   sync.Map                          // all owners that the engine has seen
	recorder *tracetest.SpanRecorder
	observer *leaseholdotel.Observer
	client   *leasehold.Client
	ctx      context.Context
	caller   trace.SpanContext
}

// withTestClient runs a test in virtual time.
func withTestClient(t *testing.T, test func(t *testing.T, w *testClient), opts ...leaseholdotel.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &testClient{t: t, recorder: tracetest.NewSpanRecorder()}
		w.engine = drivertest.NewFaulty(memory.New(), func(op drivertest.Op) drivertest.Fault {
			broken := w.broken.Load()
			w.owners.Store(op.Owner, true)
			return drivertest.Fault{FailBefore: broken != nil && *broken == op.Method}
		})
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(w.recorder))
		w.observer = leaseholdotel.New(append(opts, leaseholdotel.WithTracerProvider(provider))...)
		w.client = leasehold.New(w.engine, leasehold.WithObserver(w.observer))
		t.Cleanup(func() { w.client.Close() })
		ctx, span := provider.Tracer("test").Start(t.Context(), "caller")
		w.ctx, w.caller = ctx, span.SpanContext()
		test(t, w)
		w.balance()
	})
}

// balance expects that all spans but the caller's have ended, that the observer keeps nothing, and that no span
// contains an owner.
func (w *testClient) balance() {
	w.t.Helper()
	w.client.Close()
	if open := len(w.recorder.Started()) - len(w.recorder.Ended()); open != 1 {
		w.t.Errorf("%d spans are open, want that of the caller alone", open)
	}
	if n := w.observer.Kept(); n != 0 {
		w.t.Errorf("the observer keeps %d leases; none is held", n)
	}
	for _, s := range w.recorder.Ended() {
		w.wantNoOwner(describe(s))
	}
}

// wantNoOwner fails the test if a text contains the secret of an owner.
func (w *testClient) wantNoOwner(text string) {
	w.t.Helper()
	for owner := range w.owners.Range {
		if owner != "" && strings.Contains(text, owner.(string)) {
			w.t.Errorf("an owner is shown: %s", text)
		}
	}
}

// describe is everything that a span contains: its name, its outcome, its attributes, and those of its events.
func describe(s sdk.ReadOnlySpan) string {
	text := s.Name() + " " + s.Status().Description
	attributes := s.Attributes()
	for _, e := range s.Events() {
		text += " " + e.Name
		attributes = append(attributes, e.Attributes...)
	}
	for _, kv := range attributes {
		text += " " + string(kv.Key) + "=" + kv.Value.String()
	}
	return text
}

// unanswered makes the engine leave all requests of a method unanswered, or none.
func (w *testClient) unanswered(m drivertest.Method) { w.broken.Store(&m) }

// spans returns the ended spans of a name.
func (w *testClient) spans(name string) (all []sdk.ReadOnlySpan) {
	for _, s := range w.recorder.Ended() {
		if s.Name() == name {
			all = append(all, s)
		}
	}
	return all
}

// span returns the only span of a name.
func (w *testClient) span(name string) sdk.ReadOnlySpan {
	w.t.Helper()
	all := w.spans(name)
	if len(all) != 1 {
		w.t.Fatalf("there are %d spans %s, want one", len(all), name)
	}
	return all[0]
}

func (w *testClient) lock(m *leasehold.Mutex) *leasehold.Lease {
	w.t.Helper()
	lease, err := m.Lock(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return lease
}

// holdElsewhere lets another program hold a name.
func (w *testClient) holdElsewhere(name string) *leasehold.Lease {
	w.t.Helper()
	other := leasehold.New(w.engine)
	w.t.Cleanup(func() { other.Close() })
	lease, err := other.Mutex(name).TryLock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return lease
}

func (w *testClient) release(l *leasehold.Lease) {
	w.t.Helper()
	if err := l.Release(); err != nil {
		w.t.Error(err)
	}
}

// value returns an attribute of a span, or the zero value if it has none.
func value(s sdk.ReadOnlySpan, key attribute.Key) attribute.Value { return within(s.Attributes(), key) }

func within(all []attribute.KeyValue, key attribute.Key) attribute.Value {
	if i := slices.IndexFunc(all, func(kv attribute.KeyValue) bool { return kv.Key == key }); i >= 0 {
		return all[i].Value
	}
	return attribute.Value{}
}

// events are the names of the events of a span.
func events(s sdk.ReadOnlySpan) (names []string) {
	for _, e := range s.Events() {
		names = append(names, e.Name)
	}
	return names
}

// wantStatus expects a status, with a text if it is an error.
func wantStatus(t *testing.T, s sdk.ReadOnlySpan, want codes.Code) {
	t.Helper()
	if got := s.Status(); got.Code != want || (got.Description != "") != (want == codes.Error) {
		t.Errorf("%s: status %v %q, want %v", s.Name(), got.Code, got.Description, want)
	}
}
