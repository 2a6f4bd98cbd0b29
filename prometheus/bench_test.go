package leaseholdprometheus_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/memory"
	leaseholdprometheus "github.com/leasehold-go/leasehold/prometheus"
)

// The cost of counting: Lock and Release of a free name without an observer, and with these metrics. Both alternate
// every millisecond or so, so that other load on the machine affects both, and the medians are compared.
func BenchmarkObserved(b *testing.B) {
	const pairs = 1000
	ctx := context.Background()
	turn := func(m *leasehold.Mutex) float64 {
		began := time.Now()
		for range pairs {
			lease, err := m.Lock(ctx)
			if err != nil {
				b.Fatal(err)
			}
			lease.Release()
		}
		return float64(time.Since(began)) / pairs
	}
	metrics := leaseholdprometheus.New("order")
	alone := leasehold.New(memory.New()).Mutex("order:1", leasehold.Label("order"))
	observed := leasehold.New(memory.New(), leasehold.WithObserver(metrics)).Mutex("order:1", leasehold.Label("order"))
	var without, with []float64
	for b.Loop() {
		without = append(without, turn(alone))
		with = append(with, turn(observed))
	}
	a, z := median(without), median(with)
	b.ReportMetric(a, "ns/pair-alone")
	b.ReportMetric(z, "ns/pair-observed")
	b.ReportMetric(z-a, "ns/pair-more")
	b.ReportMetric(0, "ns/op") // that of a turn of both: it says nothing
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// The events of one Lock and Release, without these calls.
func BenchmarkEvents(b *testing.B) {
	m := leaseholdprometheus.New("order")
	about := leasehold.About{Name: "order:1", Label: "order"}
	b.ReportAllocs()
	for b.Loop() {
		m.ObserveGrant(leasehold.Granted{About: about, Waited: 2 * time.Microsecond})
		m.ObserveRelease(leasehold.Released{About: about, Held: time.Millisecond})
	}
}

// The same on all processors at once.
func BenchmarkEventsTogether(b *testing.B) {
	m := leaseholdprometheus.New("order")
	about := leasehold.About{Name: "order:1", Label: "order"}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.ObserveGrant(leasehold.Granted{About: about, Waited: 2 * time.Microsecond})
			m.ObserveRelease(leasehold.Released{About: about, Held: time.Millisecond})
		}
	})
}
