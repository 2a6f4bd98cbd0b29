// Command example shows the spans of some leases: one that is free, one that is waited for, and one that is held for
// longer than allowed. It prints each span when it ends. A real program would have an exporter instead, which sends
// spans to a collector.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	leaseholdotel "github.com/leasehold-go/leasehold/otel"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(printer{}))
	client := leasehold.New(memory.New(),
		leasehold.WithObserver(leaseholdotel.New(leaseholdotel.WithTracerProvider(provider))),
		leasehold.WithDefaults(leasehold.TTL(time.Second)))
	defer client.Close()
	m := client.Mutex("order:1001", leasehold.Label("order"))

	tracer := provider.Tracer("shop")
	var work sync.WaitGroup
	errs := make(chan error, 2)
	for _, job := range []string{"ship order", "bill order"} {
		work.Go(func() {
			ctx, span := tracer.Start(context.Background(), job)
			defer span.End()
			errs <- m.Do(ctx, func(ctx context.Context, _ *leasehold.Lease) error {
				_, step := tracer.Start(ctx, "write to the database")
				defer step.End()
				time.Sleep(500 * time.Millisecond) // long enough for a renewal
				return nil
			})
		})
	}
	work.Wait()
	for range 2 {
		if err := <-errs; err != nil {
			return err
		}
	}

	lease, err := client.Mutex("report", leasehold.MaxHold(200*time.Millisecond)).Lock(context.Background())
	if err != nil {
		return err
	}
	<-lease.Context().Done()
	_ = lease.Release() // it was lost, as is the point of it
	return provider.Shutdown(context.Background())
}

// printer prints spans.
type printer struct{}

func (printer) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (printer) ForceFlush(context.Context) error           { return nil }
func (printer) Shutdown(context.Context) error             { return nil }

func (printer) OnEnd(s sdk.ReadOnlySpan) {
	took := s.EndTime().Sub(s.StartTime()).Round(time.Millisecond)
	fmt.Printf("%s  trace %.8s  span %s  parent %s  %s\n",
		s.Name(), s.SpanContext().TraceID(), s.SpanContext().SpanID(), s.Parent().SpanID(), took)
	for _, kv := range s.Attributes() {
		fmt.Printf("    %s = %s\n", kv.Key, kv.Value.String())
	}
	for _, e := range s.Events() {
		fmt.Printf("    event: %s, after %s\n", e.Name, e.Time.Sub(s.StartTime()).Round(time.Millisecond))
	}
	for _, l := range s.Links() {
		fmt.Printf("    link to span %s\n", l.SpanContext.SpanID())
	}
	if text := s.Status().Description; text != "" {
		fmt.Printf("    %s: %s\n", s.Status().Code, text)
	}
}
