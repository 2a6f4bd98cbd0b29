package main

import (
	"path/filepath"
	"testing"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/sqlite"
)

// The whole path of an uncontended lock on the default engine: library, local queue, renewal, and the file.
func BenchmarkLockReleaseSQLite(b *testing.B) {
	engine, err := sqlite.Open(filepath.Join(b.TempDir(), "locks.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { engine.Close() })
	m := leasehold.New(engine).Mutex("free")
	for b.Loop() {
		lease, err := m.Lock(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
