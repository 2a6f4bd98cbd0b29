package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
)

// The write that makes a database full is done, although its answer is that there is no room: what it has put there must not be forgotten.
func TestAFullDatabaseMayHaveTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		var removals atomic.Int64
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(r.Compare) == 0 {
				removals.Add(1)
				return &pb.TxnResponse{Succeeded: true}, nil
			}
			return nil, rpctypes.ErrGRPCNoSpace
		}
		if _, err := e.Take(t.Context(), briefly()); err == nil || driver.HadNoEffect(err) || !strings.Contains(err.Error(), "alarm disarm") {
			t.Errorf("Take: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if removals.Load() == 0 {
			t.Error("the key is left there")
		}
	})
}

// What has waited for a connection until its time was over was not sent.
func TestWhatHadNoConnectionHadNoEffect(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	e, err := Open("etcd://" + silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := e.txn(ctx, nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) || !driver.HadNoEffect(err) {
		t.Errorf("a transaction: %v", err)
	}
}

// A place that a Take has got, although too late to tell of it, is not forgotten when the next request fails for sure.
func TestWhatWasJoinedIsNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		r := briefly()
		r.Kind, r.Size, r.Join, r.TTL = driver.Semaphore, 2, true, time.Second
		var removed atomic.Bool
		f.alive = func() (*pb.LeaseKeepAliveResponse, error) { return nil, context.DeadlineExceeded }
		f.writes = func(q *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(q.Compare) == 0 {
				removed.Store(true)
				return &pb.TxnResponse{Succeeded: true}, nil
			}
			time.Sleep(3500 * time.Millisecond) // the session lasts for a moment more
			own := q.Success[0].GetRequestPut()
			there := []*mvccpb.KeyValue{
				{Key: []byte("other"), CreateRevision: 1, Lease: 1, Value: cardOf(r, "other").bytes()},
				{Key: own.Key, CreateRevision: 9, Lease: 7, Value: own.Value},
			}
			return &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: 9}, Responses: []*pb.ResponseOp{
				{}, {Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: there}}},
			}}, nil
		}
		_, err := e.Take(t.Context(), r)
		if !errors.Is(err, context.DeadlineExceeded) || driver.HadNoEffect(err) {
			t.Errorf("Take: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if !removed.Load() {
			t.Error("the key is left there")
		}
	})
}

// Whoever is told that a lease has ended may ask the engine for something: observers are called from there.
func TestTheEndOfALeaseIsToldWithoutALock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e := newWaited(t)
		r := briefly()
		e.members.all[r.Key] = &member{Key: r.Key, owner: r.Owner, whereabouts: whereabouts{created: 10}, granted: true, ending: make(chan struct{})}
		told := false
		e.Renew(t.Context(), []driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}}, func(_ int, err error) {
			if told = driver.IsNo(err); !told {
				t.Errorf("Renew: %v", err)
			}
			if !e.members.mu.TryLock() {
				t.Error("the members are locked while somebody is told")
				return
			}
			e.members.mu.Unlock()
		})
		if !told {
			t.Error("nothing was told")
		}
	})
}

// Keys that may be on many sessions, since those ended while the outcome of requests was unknown, are removed in requests that servers accept.
func TestRemovalsAreNotTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		removed := map[string]bool{}
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(r.Success) > 128 {
				return nil, rpctypes.ErrGRPCTooManyOps
			}
			for _, op := range r.Success {
				removed[fmt.Sprintf("%s %d", op.GetRequestTxn().Compare[0].Key, op.GetRequestTxn().Compare[0].GetLease())] = true
			}
			return &pb.TxnResponse{Succeeded: true}, nil
		}
		const members, sessions = 40, 5
		var part []*member
		for i := range members {
			m := &member{home: fmt.Sprint(i), whereabouts: whereabouts{path: fmt.Sprint(i)}}
			for s := range sessions {
				m.leases = append(m.leases, clientv3.LeaseID(s+1))
			}
			part = append(part, m)
		}
		if err := e.members.remove(part); err != nil || len(removed) != members*sessions {
			t.Errorf("%d removed of %d: %v", len(removed), members*sessions, err)
		}
	})
}

// A TakeAll that comes too late for one of the owners does not forget the keys of the others.
func TestATakeAllThatIsLateForOneKnowsTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		first, second := briefly(), briefly()
		first.Name, second.Name, second.Owner = "first", "second", "other"
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
			e.members.mu.Lock()
			defer e.members.mu.Unlock()
			e.members.find(first.Key, first.Owner).ending = make(chan struct{})
			return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 9}}, nil
		}
		if _, err := e.TakeAll(t.Context(), []driver.Request{first, second}); !errors.Is(err, errEnded) {
			t.Errorf("TakeAll: %v", err)
		}
		e.members.mu.Lock()
		defer e.members.mu.Unlock()
		if m := e.members.find(second.Key, second.Owner); m == nil || m.created != 9 {
			t.Errorf("known of the second: %+v", m)
		}
	})
}

// Many owners of one name, readers say, cost no more time each than it takes to look at all of them a few times.
func TestManyOwnersOfAName(t *testing.T) {
	t.Parallel()
	_, e := newWaited(t)
	const many, looks = 1000, 50
	seen := make(map[int]bool, many)
	var entering, looking time.Duration
	for i := range many {
		start := time.Now()
		m, err := e.members.enter(t.Context(), waited.Key, fmt.Sprint(i))
		entered := time.Now()
		if err != nil || seen[m.number] {
			t.Fatalf("owner %d: number %d, %v", i, m.number, err)
		}
		seen[m.number] = true
		e.members.mu.Lock()
		nobody := e.members.find(waited.Key, "nobody")
		e.members.mu.Unlock()
		entering, looking = entering+entered.Sub(start), looking+time.Since(entered)
		if nobody != nil {
			t.Fatalf("nobody is %+v", nobody)
		}
	}
	if entering > looks*looking { // the two take turns, so what keeps the machine busy makes both slower
		t.Errorf("to enter %d owners took %v, and to look at all of them each time %v", many, entering, looking)
	}
}
