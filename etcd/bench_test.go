package etcd_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// manyGoroutines is how many goroutines use one client.
const manyGoroutines = 64

func benchServer(b *testing.B) (*clientv3.Client, *etcd.Engine) {
	b.Helper()
	s := etcdserver.ForTest(b, etcdserver.Config{Volatile: true})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	e, err := etcd.New(client)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	return client, e
}

// pairs takes and releases locks, each goroutine on a name of its own.
func pairs(b *testing.B, goroutines int, pair func(name string) error) {
	b.Helper()
	if err := pair("warm"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(max(1, goroutines/2)) // of two processors
	if goroutines == 1 {
		for b.Loop() {
			if err := pair("alone"); err != nil {
				b.Fatal(err)
			}
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			name := rand.Text()
			for pb.Next() {
				if err := pair(name); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// BenchmarkPair takes and releases free names. Floor is the least that a server can be asked for: one transaction and
// one removal.
func BenchmarkPair(b *testing.B) {
	client, e := benchServer(b)
	lease, err := client.Grant(b.Context(), 60)
	if err != nil {
		b.Fatal(err)
	}
	session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID))
	if err != nil {
		b.Fatal(err)
	}
	for _, goroutines := range []int{1, manyGoroutines} {
		b.Run(fmt.Sprintf("Floor/%d", goroutines), func(b *testing.B) {
			pairs(b, goroutines, func(name string) error {
				free := clientv3.Compare(clientv3.CreateRevision(name), "=", 0)
				put := clientv3.OpPut(name, "", clientv3.WithLease(lease.ID))
				_, err := client.Txn(b.Context()).If(free).Then(put).Else(clientv3.OpGet(name)).Commit()
				if err == nil {
					_, err = client.Delete(b.Context(), name)
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("Engine/%d", goroutines), func(b *testing.B) {
			pairs(b, goroutines, func(name string) error {
				r := driver.Request{
					Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: rand.Text(), Size: 1, Weight: 1, Tokens: 1,
					TTL: 30 * time.Second, Join: true, Holder: "host:42 program",
				}
				g, err := e.Take(b.Context(), r)
				if err == nil {
					h := driver.Hold{Key: r.Key, Owner: r.Owner, Token: g.Token}
					err = e.Release(b.Context(), driver.Release{Hold: h})
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("Concurrency/%d", goroutines), func(b *testing.B) {
			pairs(b, goroutines, func(name string) error {
				m := concurrency.NewMutex(session, "other/"+name)
				err := m.Lock(b.Context())
				if err == nil {
					err = m.Unlock(b.Context())
				}
				return err
			})
		})
	}
}
