package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// lateData does something between the reading of data and the transaction that stores it.
type lateData struct {
	pb.KVClient
	before func()
}

func (l *lateData) Txn(ctx context.Context, r *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put != nil && strings.Contains(string(put.Key), dataPrefix) && l.before != nil {
			before := l.before
			l.before = nil
			before()
		}
	}
	return l.KVClient.Txn(ctx, r, opts...)
}

// A transaction that arrives late stores nothing: its owner has released meanwhile, and somebody else has got the lock,
// or has stored data, or the same owner has stored later data.
func TestDataThatArrivesLate(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, etcdserver.Config{Volatile: true})
	open := func() *Engine {
		e, err := Open("etcd://" + s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	a, b := open(), open()
	late := &lateData{KVClient: a.kv}
	a.kv = late
	request := func(name string) driver.Request {
		return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: rand.Text(), Size: 1, Weight: 1,
			TTL: time.Minute, Tokens: 1}
	}
	take := func(e *Engine, r driver.Request) uint64 {
		t.Helper()
		g, err := e.Take(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return g.Token
	}
	set := func(e *Engine, r driver.Request, token, number uint64, value string) error {
		return e.SetData(t.Context(), driver.DataSet{
			Hold: driver.Hold{Key: r.Key, Owner: r.Owner},
			Data: driver.Data{Value: []byte(value), Token: token, Number: number},
		})
	}
	for name, stores := range map[string]bool{"taken": false, "taken and stored": true} {
		old, next := request(name), request(name)
		token := take(a, old)
		want := ""
		late.before = func() {
			held := driver.Hold{Key: old.Key, Owner: old.Owner}
			if err := a.Release(t.Context(), driver.Release{Hold: held}); err != nil {
				t.Error(err)
			}
			nextToken := take(b, next)
			if stores {
				want = "next"
				if err := set(b, next, nextToken, 1, want); err != nil {
					t.Error(err)
				}
			}
		}
		if err := set(a, old, token, 1, "late"); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("%s: %v", name, err)
		}
		if d, err := b.Data(t.Context(), name); err != nil || string(d.Value) != want {
			t.Errorf("%s: the data is %q, %v", name, d.Value, err)
		}
	}
	own := request("overtaken")
	token := take(a, own)
	late.before = func() {
		if err := set(a, own, token, 2, "second"); err != nil {
			t.Error(err)
		}
	}
	if err := set(a, own, token, 1, "first"); err != nil {
		t.Error(err)
	}
	if d, err := b.Data(t.Context(), own.Name); err != nil || string(d.Value) != "second" {
		t.Errorf("overtaken: the data is %q, %v", d.Value, err)
	}
}
