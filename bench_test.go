package leasehold_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
)

// One goroutine and a free name: the cost of the library itself.
func BenchmarkLockRelease(b *testing.B) {
	m := leasehold.New(memory.New()).Mutex("free")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		lease, err := m.Lock(ctx)
		if err != nil {
			b.Fatal(err)
		}
		lease.Release()
	}
}

// 64 goroutines of one process hand over one lock.
func BenchmarkHandOver64(b *testing.B) {
	m := leasehold.New(memory.New()).Mutex("busy")
	ctx := context.Background()
	b.ReportAllocs()
	var wg sync.WaitGroup
	for i := range 64 {
		n := b.N / 64
		if i < b.N%64 {
			n++
		}
		wg.Go(func() {
			for range n {
				lease, err := m.Lock(ctx)
				if err != nil {
					b.Error(err)
					return
				}
				lease.Release()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hand-overs/s")
}

// The cost of a held lease: memory, goroutines, and, as cpu-share, the part of one core that renewing all of them takes
// in real time.
func BenchmarkHeld100k(b *testing.B) {
	const leases = 100_000
	for b.Loop() {
		ctx := context.Background()
		before := heap()
		goroutines := runtime.NumGoroutine()
		client := leasehold.New(memory.New())
		held := make([]*leasehold.Lease, leases)
		for i := range held {
			lease, err := client.Mutex(fmt.Sprintf("order:%06d", i)).Lock(ctx)
			if err != nil {
				b.Fatal(err)
			}
			held[i] = lease
		}
		b.ReportMetric(float64(heap()-before)/leases, "B/lease")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")

		began, cpu := time.Now(), cpuTime(b)
		time.Sleep(2 * leasehold.DefaultTTL / 3) // two rounds of renewals
		b.ReportMetric(100*float64(cpuTime(b)-cpu)/float64(time.Since(began)), "%cpu-of-one-core")
		for _, l := range held {
			if l.Context().Err() != nil {
				b.Fatal("a lease was lost")
			}
		}
		client.Close()
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
