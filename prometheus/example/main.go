// Command example is a program whose callers contend for locks. It serves its metrics on http://127.0.0.1:2112/metrics,
// for a Prometheus with the configuration of the folder deploy. After some minutes the alert LockWaitLong fires.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:2112")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s/metrics\n", listener.Addr())
	if err := run(ctx, listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run has callers contend and serves the metrics until ctx ends.
func run(ctx context.Context, listener net.Listener) error {
	metrics := leaseholdprometheus.New("order", "report")
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()

	client := leasehold.New(memory.New(), leasehold.WithObserver(metrics))
	defer client.Close()
	var callers sync.WaitGroup
	defer callers.Wait()
	for i := range 8 {
		// Eight callers want one of three orders for up to a second, and then the report for a moment.
		callers.Go(func() {
			for ctx.Err() == nil {
				order := client.Mutex(fmt.Sprint("order:", rand.IntN(3)),
					leasehold.Label("order"), leasehold.WaitLimit(3*time.Second))
				use(ctx, order, time.Second)
				use(ctx, client.Mutex("report", leasehold.Label("report")), time.Duration(i)*time.Millisecond)
			}
		})
	}
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// use holds a lock for a random time up to limit. A caller that gets none goes on: the failure is counted.
func use(ctx context.Context, m *leasehold.Mutex, limit time.Duration) {
	_ = m.Do(ctx, func(ctx context.Context, _ *leasehold.Lease) error {
		select {
		case <-time.After(rand.N(limit + 1)):
		case <-ctx.Done():
		}
		return nil
	})
}
