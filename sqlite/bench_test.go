package sqlite

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

// BenchmarkFree takes and releases a name that nobody else wants.
func BenchmarkFree(b *testing.B) {
	e := openFile(b, newPath(b))
	r := lock("order:1001")
	b.ReportAllocs()
	for b.Loop() {
		g, err := e.Take(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		hold := driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token}
		if err := e.Release(b.Context(), driver.Release{Hold: hold}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// BenchmarkEightProcesses lets eight processes take turns on one name.
func BenchmarkEightProcesses(b *testing.B) {
	const processes = 8
	times := max(1, b.N/processes)
	took := runProcesses(b, processes, times)
	b.ReportMetric(float64(processes*times)/took.Seconds(), "turns/s")
}

// BenchmarkRenew renews 512 of 10,000 leases at a time.
func BenchmarkRenew(b *testing.B) {
	const held, batchSize = 10_000, 512
	e := openFile(b, newPath(b))
	batch := make([]driver.Renewal, held)
	for i := range batch {
		r := lock(fmt.Sprint("name-", i))
		h := hold(r)
		h.Token = mustTake(b, e, r).Token
		batch[i] = driver.Renewal{Hold: h, TTL: r.TTL}
	}
	at := 0
	for b.Loop() {
		if at+batchSize > held {
			at = 0
		}
		e.Renew(b.Context(), batch[at:at+batchSize], func(_ int, err error) {
			if err != nil {
				b.Error(err)
			}
		})
		at += batchSize
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchSize), "ns/item")
}

// BenchmarkManyGoroutines takes and releases free names, each its own.
func BenchmarkManyGoroutines(b *testing.B) {
	e := openFile(b, newPath(b))
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		r := lock(rand.Text())
		for pb.Next() {
			g, err := e.Take(b.Context(), r)
			if err != nil {
				b.Error(err)
				return
			}
			h := hold(r)
			h.Token = g.Token
			if err := e.Release(b.Context(), driver.Release{Hold: h}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
