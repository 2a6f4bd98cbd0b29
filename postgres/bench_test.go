package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/postgresserver"
	"github.com/leasehold-go/leasehold/postgres"
)

// BenchmarkPairs takes and releases free names, and compares that with plain advisory locks. The server writes to the
// disk and vacuums as it does by default.
func BenchmarkPairs(b *testing.B) {
	s := postgresserver.ForTest(b, postgresserver.Config{TCP: true, OnDisk: true,
		Settings: []string{"shared_buffers=128MB", "autovacuum=on"}})
	c, err := pgxpool.ParseConfig(s.URL())
	if err != nil {
		b.Fatal(err)
	}
	c.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	if err := postgres.Migrate(b.Context(), pool, postgres.DefaultSchema); err != nil {
		b.Fatal(err)
	}
	e := open(b, pool, postgres.DefaultSchema)
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprintf("advisory/%d", goroutines), func(b *testing.B) {
			pairs(b, goroutines, func(ctx context.Context, i int) error { return advisory(ctx, pool, i) })
		})
		b.Run(fmt.Sprintf("leasehold/%d", goroutines), func(b *testing.B) {
			pairs(b, goroutines, func(ctx context.Context, i int) error { return leased(ctx, e, i) })
		})
	}
}

// pairs runs f in many goroutines, each with names of its own.
func pairs(b *testing.B, goroutines int, f func(ctx context.Context, i int) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ResetTimer()
	for i := range goroutines {
		running.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(b.Context(), i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// advisory takes and releases an advisory lock on one connection, as it must be.
func advisory(ctx context.Context, pool *pgxpool.Pool, i int) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(i)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(i))
	return err
}

func leased(ctx context.Context, e *postgres.Engine, i int) error {
	r := lock(fmt.Sprintf("name-%d", i))
	g, err := e.Take(ctx, r)
	if err != nil {
		return err
	}
	h := hold(r)
	h.Token = g.Token
	return e.Release(ctx, driver.Release{Hold: h})
}
