package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// waiters is how many clients want the same name. To the server, each is a process of its own.
const waiters = 16

// turns lets clients take turns on one name, and reports the time from the start of a release to the next grant.
func turns(b *testing.B, clients []func(visit func()) error) {
	b.Helper()
	var mu sync.Mutex
	var released time.Time
	var took []time.Duration
	left := b.N
	b.ResetTimer()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for more := true; more; {
				err := c(func() {
					now := time.Now()
					mu.Lock()
					defer mu.Unlock()
					if !released.IsZero() {
						took = append(took, now.Sub(released))
					}
					left--
					more = left > 0
					released = time.Now()
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	if len(took) > 0 {
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// BenchmarkHandOver lets clients take turns on a contended name.
func BenchmarkHandOver(b *testing.B) {
	s := etcdserver.ForTest(b, etcdserver.Config{Volatile: true})
	name := rand.Text()
	b.Run(fmt.Sprintf("Engine/%d", waiters), func(b *testing.B) {
		var clients []func(func()) error
		for range waiters {
			e, err := etcd.Open("etcd://" + s.Addr())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = e.Close() })
			clients = append(clients, func(visit func()) error { return turn(b.Context(), e, name, visit) })
		}
		turns(b, clients)
	})
	b.Run(fmt.Sprintf("Concurrency/%d", waiters), func(b *testing.B) {
		var clients []func(func()) error
		for range waiters {
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, Logger: zap.NewNop()})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = client.Close() })
			session, err := concurrency.NewSession(client)
			if err != nil {
				b.Fatal(err)
			}
			clients = append(clients, func(visit func()) error {
				m := concurrency.NewMutex(session, "other/"+name)
				if err := m.Lock(b.Context()); err != nil {
					return err
				}
				visit()
				return m.Unlock(b.Context())
			})
		}
		turns(b, clients)
	})
}

// turn takes a lock, or waits for it, and releases it, as the core does.
func turn(ctx context.Context, e *etcd.Engine, name string, visit func()) error {
	r := driver.Request{
		Key: driver.Key{
			Kind: driver.Lock,
			Name: name,
		},
		Owner:  rand.Text(),
		Size:   1,
		Weight: 1,
		Tokens: 1,
		TTL:    30 * time.Second,
		Join:   true,
	}
	g, err := e.Take(ctx, r)
	if errors.Is(err, driver.ErrHeld) {
		g, err = e.Wait(ctx, r)
	}
	if err != nil {
		return err
	}
	visit()
	return e.Release(ctx, driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token}})
}
