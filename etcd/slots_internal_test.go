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

// Each owner has the first key that no other one has, until nothing is known of it any more.
func TestKeysOfMembers(t *testing.T) {
	t.Parallel()
	e := (&fake{}).engine(t)
	enter := func(owner string) *member {
		t.Helper()
		m, err := e.members.enter(t.Context(), waited.Key, owner)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var all []*member
	for _, owner := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, enter(owner))
	}
	same := enter("c")
	e.members.leave(same)
	if same != all[2] {
		t.Error("an owner has two keys")
	}
	for _, gone := range []int{3, 0, 1} {
		e.members.leave(all[gone])
	}
	var numbers []int
	for _, owner := range []string{"f", "g", "h", "i"} {
		m := enter(owner)
		numbers, all = append(numbers, m.number), append(all, m)
	}
	if want := []int{0, 1, 3, 5}; !slices.Equal(numbers, want) {
		t.Errorf("the keys are %v, want %v", numbers, want)
	}
	homes := make(map[string]bool)
	for m := e.members.all[waited.Key]; m != nil; m = m.next {
		homes[m.home] = true
	}
	if len(homes) != 6 || !homes[pathOf("own")] {
		t.Errorf("six owners have the keys %v", homes)
	}
	for _, m := range []int{2, 4, 5, 6, 7, 8} {
		e.members.leave(all[m])
	}
	if len(e.members.all) != 0 {
		t.Error("not all are forgotten")
	}
}

// One whose key is taken waits until it is free, and does not ask all the time.
func TestWaitingForOnesOwnKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		var reads int
		another := card{state: keptShared, ttl: time.Minute, weight: 1, size: 1, mark: "another"}
		stranger := &mvccpb.KeyValue{Key: []byte(pathOf("own")), CreateRevision: 3, ModRevision: 3, Lease: 8, Value: another.bytes()}
		f.reads = func(*pb.RangeRequest) *pb.RangeResponse {
			reads++
			return &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{stranger}}
		}
		done := waitFor(t.Context(), e)
		w := <-f.opened
		if string(w.KeyBytes()) != pathOf("own") || string(w.RangeBytes()) != pathOf("own")+"\x00" {
			t.Errorf("the watch is of %q to %q", w.KeyBytes(), w.RangeBytes())
		}
		time.Sleep(3*lookEvery + time.Second) // it looks although nothing has caused that, and goes on to watch
		f.mu.Lock()
		if reads < 3 || reads > 5 {
			t.Errorf("%d reads in %v", reads, 3*lookEvery)
		}
		f.reads = func(*pb.RangeRequest) *pb.RangeResponse { return &pb.RangeResponse{} }
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
			return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
		}
		f.mu.Unlock()
		f.happens("own", 9)
		if a := <-done; a.err != nil || a.grant.Token != 10 {
			t.Errorf("told %+v", a)
		}
	})
}

// A place that was found on the key of another engine is removed there at its end, and what a late request may have put on the own key, too.
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
	}{{"home", []string{"home"}}, {"another's", []string{"home", "another's"}}} {
		removed = nil
		if err := e.members.remove([]*member{{home: "home", whereabouts: whereabouts{path: c.path}, leases: []clientv3.LeaseID{7}}}); err != nil || !slices.Equal(removed, c.want) {
			t.Errorf("removed %q, want %q: %v", removed, c.want, err)
		}
	}
}

// One whose end comes while a request is under way is ended once, whatever the outcome of the request.
func TestAnEndDuringARequest(t *testing.T) {
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
				f, e := newWaited(t)
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
				r := briefly()
				if _, err := e.Take(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if err := ask(t, e, r); !errors.Is(err, broken) {
					t.Errorf("the request: %v", err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := len(e.members.all); n != 0 {
					t.Errorf("%d members are not forgotten", n)
				}
			})
		})
	}
}
