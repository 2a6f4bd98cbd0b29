package leaseholdotel_test

import (
	"context"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	"github.com/leasehold-go/leasehold/otel"
)

// The spans of one lease. A real program has an exporter that sends spans to a collector, instead of one that keeps
// them.
func Example() {
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans))

	client := leasehold.New(memory.New(),
		leasehold.WithObserver(leaseholdotel.New(leaseholdotel.WithTracerProvider(provider))))
	defer client.Close()

	ctx, ship := provider.Tracer("shop").Start(context.Background(), "ship order")
	err := client.Mutex("order:1001", leasehold.Label("order")).Do(ctx, func(context.Context, *leasehold.Lease) error {
		return nil // the work under the lock
	})
	ship.End()
	if err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.GetSpans() {
		fmt.Printf("%s, in ship order: %v\n", s.Name, s.Parent.Equal(ship.SpanContext()))
	}
	// Output:
	// lock.acquire, in ship order: true
	// lock.hold, in ship order: true
	// ship order, in ship order: false
}
