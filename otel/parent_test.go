package leaseholdotel_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/otel"
)

// Work under a lease is done by the caller, so its spans remain children of the caller's span.
func TestSpansUnderALeaseKeepTheirParent(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		lease := w.lock(w.client.Mutex("n"))
		if got := trace.SpanContextFromContext(lease.Context()); !got.Equal(w.caller) {
			t.Errorf("the lease's context has span %s, want that of the caller", got.SpanID())
		}
		w.release(lease)
	})
}

// Without a span in the context of the call, each span is a trace of its own, and the link joins them.
func TestACallOutsideOfASpan(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		w.ctx = t.Context()
		w.release(w.lock(w.client.Mutex("n")))
		acquire, hold := w.span("lock.acquire"), w.span("lock.hold")
		if acquire.Parent().IsValid() || hold.Parent().IsValid() ||
			hold.Links()[0].SpanContext.TraceID() != acquire.SpanContext().TraceID() {
			t.Errorf("parents %v and %v, links %v", acquire.Parent(), hold.Parent(), hold.Links())
		}
	})
}

// A trace that is not sampled gets no spans, and one that is sampled gets all of them.
func TestSamplerIsRespected(t *testing.T) {
	t.Parallel()
	for sampled, want := range map[bool]int{true: 3, false: 0} {
		recorder := tracetest.NewSpanRecorder()
		sampler := sdk.NeverSample()
		if sampled {
			sampler = sdk.AlwaysSample()
		}
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder), sdk.WithSampler(sdk.ParentBased(sampler)))
		observer := leaseholdotel.New(leaseholdotel.WithTracerProvider(provider))
		client := leasehold.New(memory.New(), leasehold.WithObserver(observer))
		ctx, span := provider.Tracer("test").Start(t.Context(), "caller")
		lease, err := client.Mutex("n").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
		span.End()
		client.Close()
		if got := len(recorder.Ended()); got != want || observer.Kept() != 0 {
			t.Errorf("sampled %v: %d spans, and %d leases are kept", sampled, got, observer.Kept())
		}
	}
}

// The end of a lease may be observed before its grant, if the client is closed at that moment.
func TestEndBeforeGrant(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		about := leasehold.About{Kind: driver.Lock, Name: "n"}
		w.observer.ObserveRelease(leasehold.Released{About: about, Token: 7})
		w.observer.ObserveRenew(leasehold.Renewed{About: about, Token: 7}) // which is even later
		w.observer.ObserveGrant(leasehold.Granted{About: about, Context: w.ctx, Token: 7})
		if got := value(w.span("lock.hold"), leaseholdotel.Token).AsInt64(); got != 7 {
			t.Errorf("the span is that of token %d", got)
		}
	})
}

// Two clients should not share an observer. If their tokens are equal, spans still end.
func TestEqualTokens(t *testing.T) {
	withTestClient(t, func(t *testing.T, w *testClient) {
		about := leasehold.About{Kind: driver.Lock, Name: "n"}
		for range 3 {
			w.observer.ObserveGrant(leasehold.Granted{About: about, Context: w.ctx, Token: 7})
		}
		w.observer.ObserveRelease(leasehold.Released{About: about, Token: 7})
		if n := len(w.spans("lock.hold")); n != 3 {
			t.Errorf("%d spans have ended, want 3", n)
		}
	})
}

// The observer keeps nothing of leases that have ended, however many come and go at once, and whenever the client is
// closed.
func TestObserverForgetsEndedLeases(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	observer := leaseholdotel.New(leaseholdotel.WithTracerProvider(provider))
	for range 20 {
		client := leasehold.New(memory.New(), leasehold.WithObserver(observer))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 50 {
					lease, err := client.Mutex("n").Lock(t.Context())
					if err != nil {
						return // closed
					}
					if i%2 == 0 {
						lease.Release()
					}
				}
			})
		}
		client.Close()
		all.Wait()
	}
	if open := len(recorder.Started()) - len(recorder.Ended()); open != 0 || observer.Kept() != 0 {
		t.Errorf("%d spans are open, and %d leases are kept", open, observer.Kept())
	}
}

// Without a provider of its own, the observer uses the global one.
func TestTheGlobalProvider(t *testing.T) {
	before := otel.GetTracerProvider()
	defer otel.SetTracerProvider(before)
	recorder := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)))
	client := leasehold.New(memory.New(),
		leasehold.WithObserver(leaseholdotel.New(leaseholdotel.WithTracerProvider(nil))))
	defer client.Close()
	lease, err := client.Mutex("n").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
	if n := len(recorder.Ended()); n != 2 {
		t.Fatalf("%d spans, want 2", n)
	}
	if scope := recorder.Ended()[0].InstrumentationScope().Name; scope != "github.com/leasehold-go/leasehold/otel" {
		t.Errorf("scope %q", scope)
	}
}

// The cost that an observer adds to an uncontended lock and its release.
func BenchmarkLock(b *testing.B) {
	ctx := context.Background()
	record := sdk.NewTracerProvider(sdk.WithSpanProcessor(discard{}))
	for _, c := range []struct {
		name     string
		observer any
	}{
		{"without", nil},
		{"no-op", leaseholdotel.New(leaseholdotel.WithTracerProvider(noop.NewTracerProvider()))},
		{"not sampled", leaseholdotel.New(leaseholdotel.WithTracerProvider(
			sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))))},
		{"recorded", leaseholdotel.New(leaseholdotel.WithTracerProvider(record))},
	} {
		b.Run(c.name, func(b *testing.B) {
			var opts []leasehold.ClientOption
			if c.observer != nil {
				opts = append(opts, leasehold.WithObserver(c.observer))
			}
			client := leasehold.New(memory.New(), opts...)
			defer client.Close()
			m := client.Mutex("order:1001", leasehold.Label("order"), leasehold.TTL(time.Minute))
			b.ReportAllocs()
			for b.Loop() {
				lease, err := m.Lock(ctx)
				if err != nil {
					b.Fatal(err)
				}
				lease.Release()
			}
		})
	}
}

// discard is a span processor that costs nothing.
type discard struct{}

func (discard) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (discard) OnEnd(sdk.ReadOnlySpan)                     {}
func (discard) ForceFlush(context.Context) error           { return nil }
func (discard) Shutdown(context.Context) error             { return nil }
