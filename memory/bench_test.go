package memory_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/memory"
)

func request(name, owner string) driver.Request {
	return driver.Request{
		Key:    driver.Key{Kind: driver.Lock, Name: name},
		Owner:  owner,
		Size:   1,
		Weight: 1,
		TTL:    30 * time.Second,
		Tokens: 1,
	}
}

func hold(r driver.Request) driver.Hold {
	return driver.Hold{Key: r.Key, Owner: r.Owner, Mode: r.Mode}
}

func BenchmarkTakeRelease(b *testing.B) {
	ctx := context.Background()
	e := memory.New()
	r := request("order:1001", "owner")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Take(ctx, r); err != nil {
			b.Fatal(err)
		}
		if err := e.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTakeReleaseManyNames(b *testing.B) {
	ctx := context.Background()
	e := memory.New()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := request(fmt.Sprintf("name-%p", pb), "owner")
		for pb.Next() {
			if _, err := e.Take(ctx, r); err != nil {
				b.Error(err)
				return
			}
			if err := e.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkHandOver hands one lock over among goroutines that all wait for it.
func BenchmarkHandOver(b *testing.B) {
	ctx := context.Background()
	e := memory.New()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := request("contended", fmt.Sprintf("owner-%p", pb))
		for pb.Next() {
			if _, err := e.Wait(ctx, r); err != nil {
				b.Error(err)
				return
			}
			if err := e.Release(ctx, driver.Release{Hold: hold(r)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkRenew renews a batch of 512 out of 100,000 held locks; ns/item is the cost of one.
func BenchmarkRenew(b *testing.B) {
	const held, batchSize = 100_000, 512
	ctx := context.Background()
	e := memory.New()
	renewals := make([]driver.Renewal, held)
	for i := range renewals {
		r := request(fmt.Sprintf("name-%d", i), fmt.Sprintf("owner-%d", i))
		g, err := e.Take(ctx, r)
		if err != nil {
			b.Fatal(err)
		}
		h := hold(r)
		h.Token = g.Token
		renewals[i] = driver.Renewal{Hold: h, TTL: r.TTL}
	}
	report := func(i int, err error) {
		if err != nil {
			b.Errorf("item %d: %v", i, err)
		}
	}
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		if at+batchSize > held {
			at = 0
		}
		e.Renew(ctx, renewals[at:at+batchSize], report)
		at += batchSize
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchSize), "ns/item")
}

// BenchmarkHeld reports how much memory a held lock costs, without its name and owner.
func BenchmarkHeld(b *testing.B) {
	const held = 100_000
	ctx := context.Background()
	requests := make([]driver.Request, held)
	for i := range requests {
		requests[i] = request(fmt.Sprintf("name-%d", i), fmt.Sprintf("owner-%d", i))
	}
	var perLock float64
	for b.Loop() {
		before := heap()
		e := memory.New()
		for _, r := range requests {
			if _, err := e.Take(ctx, r); err != nil {
				b.Fatal(err)
			}
		}
		perLock = float64(heap()-before) / held
		runtime.KeepAlive(e)
	}
	b.ReportMetric(perLock, "B/lock")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
