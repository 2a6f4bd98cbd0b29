package etcd

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// Each owner has the smallest number that no other owner of the name has, until it is forgotten.
func TestKeyNumbers(t *testing.T) {
	t.Parallel()
	e := (&fake{}).engine(t)
	begin := func(owner string) *ownedKey {
		t.Helper()
		owned, err := e.ownedKeys.beginCall(t.Context(), waitRequest.Key, owner)
		if err != nil {
			t.Fatal(err)
		}
		return owned
	}
	var all []*ownedKey
	for _, owner := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, begin(owner))
	}
	same := begin("c")
	e.ownedKeys.endCall(same)
	if same != all[2] {
		t.Error("an owner has two keys")
	}
	for _, gone := range []int{3, 0, 1} {
		e.ownedKeys.endCall(all[gone])
	}
	var numbers []int
	for _, owner := range []string{"f", "g", "h", "i"} {
		owned := begin(owner)
		numbers, all = append(numbers, owned.number), append(all, owned)
	}
	if want := []int{0, 1, 3, 5}; !slices.Equal(numbers, want) {
		t.Errorf("the keys are %v, want %v", numbers, want)
	}
	paths := make(map[string]bool)
	for owned := e.ownedKeys.byKey[waitRequest.Key]; owned != nil; owned = owned.next {
		paths[owned.freshPath] = true
	}
	if len(paths) != 6 || !paths[pathOf("own")] {
		t.Errorf("six owners have the keys %v", paths)
	}
	for _, i := range []int{2, 4, 5, 6, 7, 8} {
		e.ownedKeys.endCall(all[i])
	}
	if len(e.ownedKeys.byKey) != 0 {
		t.Error("not all are forgotten")
	}
}

// A waiter whose key is occupied waits until it is free, and polls seldom.
func TestWaitForOwnKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var reads int
		another := record{state: keptShared, ttl: time.Minute, weight: 1, size: 1, mark: "another"}
		stranger := &mvccpb.KeyValue{
			Key:            []byte(pathOf("own")),
			CreateRevision: 3,
			ModRevision:    3,
			Lease:          8,
			Value:          another.encode(),
		}
		f.reads = func(*pb.RangeRequest) *pb.RangeResponse {
			reads++
			return &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{stranger}}
		}
		done := startWait(t.Context(), e)
		w := <-f.watches
		if string(w.KeyBytes()) != pathOf("own") || string(w.RangeBytes()) != pathOf("own")+"\x00" {
			t.Errorf("the watch is of %q to %q", w.KeyBytes(), w.RangeBytes())
		}
		time.Sleep(3*pollInterval + time.Second) // it polls without an event, and goes on to watch
		f.mu.Lock()
		if reads < 3 || reads > 5 {
			t.Errorf("%d reads in %v", reads, 3*pollInterval)
		}
		f.reads = func(*pb.RangeRequest) *pb.RangeResponse { return &pb.RangeResponse{} }
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
			return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
		}
		f.mu.Unlock()
		f.sendRemovals("own", 9)
		if a := <-done; a.err != nil || a.grant.Token != 10 {
			t.Errorf("it returned %+v", a)
		}
	})
}

// An entry that was found on the key of another engine is removed there at its expiry, and so is what a late request
// may have put on the engine's own key.
func TestBothKeysAreRemoved(t *testing.T) {
	t.Parallel()
	f := &fake{}
	e := f.engine(t)
	var removed []string
	f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
		for _, op := range r.Success {
			removed = append(removed, string(op.GetRequestTxn().Success[0].GetRequestDeleteRange().Key))
		}
		return &pb.TxnResponse{Succeeded: true}, nil
	}
	for _, c := range []struct {
		path string
		want []string
	}{{"fresh", []string{"fresh"}}, {"another's", []string{"fresh", "another's"}}} {
		removed = nil
		owned := &ownedKey{freshPath: "fresh", keyState: keyState{path: c.path}, etcdLeases: []clientv3.LeaseID{7}}
		if err := e.ownedKeys.removeKeys([]*ownedKey{owned}); err != nil || !slices.Equal(removed, c.want) {
			t.Errorf("removed %q, want %q: %v", removed, c.want, err)
		}
	}
}

// An entry that expires during a request is removed once, whatever the outcome of the request.
func TestExpiryDuringARequest(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	for name, ask := range map[string]func(*testing.T, *Engine, driver.Request) error{
		"release": func(t *testing.T, e *Engine, r driver.Request) error {
			return e.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
		},
		"take": func(t *testing.T, e *Engine, r driver.Request) error {
			_, err := e.Take(t.Context(), r)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				var taken atomic.Bool
				f.writes = func(w *pb.TxnRequest) (*pb.TxnResponse, error) {
					switch {
					case isRemoval(w):
						time.Sleep(4 * time.Second)
					case taken.Swap(true):
						time.Sleep(3 * time.Second)
						return nil, broken
					}
					return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
				}
				f.deletions = func(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
					time.Sleep(3 * time.Second)
					return nil, broken
				}
				r := shortRequest()
				if _, err := e.Take(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if err := ask(t, e, r); !errors.Is(err, broken) {
					t.Errorf("the request: %v", err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := len(e.ownedKeys.byKey); n != 0 {
					t.Errorf("%d owners are not forgotten", n)
				}
			})
		})
	}
}
