package leaseholdprometheus_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/fence"
	"github.com/leasehold-go/leasehold/memory"
	leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
)

// A program counts its locks, and serves the metrics under /metrics.
func Example() {
	metrics := leaseholdprometheus.New("order")
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)

	listener, err := net.Listen("tcp", "127.0.0.1:0") // a real program has a fixed port
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	defer server.Close()

	client := leasehold.New(memory.New(), leasehold.WithObserver(metrics))
	defer client.Close()
	order := client.Mutex("order:1001", leasehold.Label("order"))
	lease, err := order.Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Mutex("order:1001", leasehold.Label("order")).TryLock(context.Background())
	fmt.Println(err)

	show("http://"+listener.Addr().String()+"/metrics", `_held{`, `_wait_seconds_count`, `reason="held"`)
	lease.Release()
	// Output:
	// leasehold: try lock "order:1001": held by somebody else
	// distributed_lock_failures_total{reason="held",resource="order"} 1
	// distributed_lock_held{resource="order"} 1
	// distributed_lock_wait_seconds_count{resource="order"} 1
}

// show prints the lines of a page that contain one of these texts.
func show(url string, texts ...string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		for _, text := range texts {
			if strings.Contains(lines.Text(), text) && !strings.HasPrefix(lines.Text(), "#") {
				fmt.Println(lines.Text())
			}
		}
	}
}

// Writes that a resource refuses because of a newer holder are counted where the error is returned.
func ExampleMetrics_Fenced() {
	metrics := leaseholdprometheus.New("order")
	gate := fence.NewGate(new(fence.Memory))
	write := func(token uint64) error {
		return metrics.Fenced("order", gate.Do(context.Background(), "order:1001", token,
			func(context.Context) error { return nil }))
	}
	fmt.Println(write(34))
	fmt.Println(write(33)) // counted in distributed_lock_fencing_rejections_total
	// Output:
	// <nil>
	// fence: token 33 for "order:1001" is too old, 34 has been there: stop, and take the lock again
}
