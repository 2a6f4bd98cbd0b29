package etcd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver/drivertest/hostile"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// Whatever a neighbour writes beside the entries of a name, or into them, nobody crashes, hangs, or wrongly believes to
// be the holder, and all other names are listed.
func FuzzWhatNeighboursWrite(f *testing.F) {
	add := hostile.Seeds(f)
	s := etcdserver.ForTest(f, etcdserver.Config{Volatile: true})
	engine := func() *etcd.Engine {
		e, err := etcd.Open("etcd://" + s.Addr())
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = e.Close() })
		return e
	}
	a, b := engine(), engine()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, DialTimeout: 10 * time.Second})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = client.Close() })
	const big = "9223372036854775807"
	for i, record := range []string{
		"", "x", "2", "2 30000 1 1 mark holder", "2 -1 1 1 mark h", "2 " + big + " 1 1 mark h",
		"2 30000 " + big + " " + big + " mark h", "3 1 " + big + " " + big + " m@1.1 h",
		"2 30000 0 0 mark h", "2 30000 1 1 mark@ffffffff." + big + " h", "2 1 1 1 mark@1.1 h", "9 1 1 1 m h",
		"2 30000 -5 5 m h", "1 1 1 1 m h", "4 1 1 1 m h", "2 1 1 1 @1.1 h", "\xff\xfe 1 1 1 m h", `{"a":1}`,
		"2 18446744073710 1 1 m h", "3 18446744073710 1 1 m@5.18446744073710 h",
	} {
		for form := range uint8(5) {
			add(uint8(i)+form, form, "stranger", record, form%2 == 0)
		}
	}
	round := 0
	f.Fuzz(func(t *testing.T, state, form uint8, key, record string, bound bool) {
		round++
		name := fmt.Sprint("bad ", round)
		var opts []clientv3.OpOption
		hostile.Run(t, hostile.Trial{
			A: a, B: b, Name: name, Good: "good", State: hostile.StateOf(state), Prefix: fmt.Sprintf("%d.", round),
			Overwrite: func(string) {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				if bound {
					if l, err := client.Grant(ctx, 3600); err == nil {
						opts = append(opts, clientv3.WithLease(l.ID))
					}
				}
				for _, kind := range []string{"lock", "semaphore"} {
					path := etcd.DefaultPrefix + kind + "/" + name
					switch form % 5 {
					case 0: // beside the others
						_, _ = client.Put(ctx, path+"\x00"+key, record, opts...)
					case 1: // into all entries
						r, err := client.Get(ctx, path+"\x00", clientv3.WithRange(path+"\x01"))
						for i := 0; err == nil && i < len(r.Kvs); i++ {
							_, _ = client.Put(ctx, string(r.Kvs[i].Key), record, opts...)
						}
					case 2: // into all entries, with their owner marks
						r, err := client.Get(ctx, path+"\x00", clientv3.WithRange(path+"\x01"))
						for i := 0; err == nil && i < len(r.Kvs); i++ {
							was, now := strings.SplitN(string(r.Kvs[i].Value), " ", 6), strings.SplitN(record, " ", 6)
							if len(now) == 6 && len(was) == 6 {
								now[4] = was[4]
							}
							_, _ = client.Put(ctx, string(r.Kvs[i].Key), strings.Join(now, " "), opts...)
						}
					case 3: // where no name is
						_, _ = client.Put(ctx, path+key, record, opts...)
					case 4: // many
						for i := range 20 {
							_, _ = client.Put(ctx, fmt.Sprint(path, "\x00", key, i), record, opts...)
						}
					}
				}
			},
		})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, kind := range []string{"lock", "semaphore"} {
			_, _ = client.Delete(ctx, etcd.DefaultPrefix+kind+"/bad", clientv3.WithPrefix())
		}
	})
}
