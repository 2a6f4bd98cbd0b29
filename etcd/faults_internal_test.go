package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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

// The write that fills a database is done although its answer is that there is no space: its key must not be forgotten.
func TestFullDatabaseMayHaveTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var removals atomic.Int64
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(r.Compare) == 0 {
				removals.Add(1)
				return &pb.TxnResponse{Succeeded: true}, nil
			}
			return nil, rpctypes.ErrGRPCNoSpace
		}
		_, err := e.Take(t.Context(), shortRequest())
		if err == nil || driver.HadNoEffect(err) || !strings.Contains(err.Error(), "alarm disarm") {
			t.Errorf("Take: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if removals.Load() == 0 {
			t.Error("the key is left there")
		}
	})
}

// A request that has waited for a connection until its deadline was not sent.
func TestRequestWithoutConnectionHadNoEffect(t *testing.T) {
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

// refusalAt returns the answer to a take that is not granted: the queue as of a revision.
func refusalAt(revision int64, queue ...*mvccpb.KeyValue) *pb.TxnResponse {
	return &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: revision}, Responses: []*pb.ResponseOp{
		{}, {Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: queue}}},
	}}
}

// entryAt returns another owner's entry in the queue, created at a revision by a request like r.
func entryAt(revision int64, r driver.Request, owner string) *mvccpb.KeyValue {
	return &mvccpb.KeyValue{
		Key: []byte(owner), CreateRevision: revision, Lease: 1, Value: newRecord(r, owner).encode(),
	}
}

// An entry that a Take has got, but too late to use it, is not forgotten when the next request certainly fails.
func TestJoinedEntryIsNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		r := shortRequest()
		r.Kind, r.Size, r.Join, r.TTL = driver.Semaphore, 2, true, time.Second
		var removed atomic.Bool
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) { return nil, context.DeadlineExceeded }
		f.writes = func(q *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(q.Compare) == 0 {
				removed.Store(true)
				return &pb.TxnResponse{Succeeded: true}, nil
			}
			time.Sleep(3500 * time.Millisecond) // the session lasts only a moment more
			own := q.Success[0].GetRequestPut()
			return refusalAt(9, entryAt(1, r, "other"),
				&mvccpb.KeyValue{Key: own.Key, CreateRevision: 9, Lease: 7, Value: own.Value}), nil
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

// A transaction that joins may also find that the session for a grant has ended. If the call ends before the next
// request, the place in the queue is not forgotten.
func TestJoinedEntryIsNotForgottenWithoutASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		f.nextBase = 100 // each session has an ID of its own
		r := shortRequest()
		r.Kind, r.Size, r.Weight, r.Join, r.TTL = driver.Semaphore, 2, 2, true, 30*time.Second
		ctx, cancel := context.WithCancel(t.Context())
		var removed atomic.Bool
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) { return nil, context.DeadlineExceeded }
		f.writes = func(q *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(q.Compare) == 0 {
				removed.Store(true)
				return &pb.TxnResponse{Succeeded: true}, nil
			}
			put := q.Failure[0].GetRequestTxn().Success[0].GetRequestPut()
			f.mu.Lock()
			f.goneSession = string(q.Failure[1].GetRequestRange().Key)
			f.mu.Unlock()
			cancel()
			return refusalAt(9, entryAt(1, r, "other"),
				&mvccpb.KeyValue{Key: put.Key, CreateRevision: 9, Lease: put.Lease, Value: put.Value}), nil
		}
		if _, err := e.Take(ctx, r); err == nil || driver.HadNoEffect(err) {
			t.Errorf("Take: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if !removed.Load() {
			t.Error("the key is left there")
		}
	})
}

// A waiter that has joined without a session for a grant, and finds too many before it, leaves again.
func TestJoinedEntryWithoutASessionLeavesAFullQueue(t *testing.T) {
	t.Parallel()
	f, e := newFakeEngine(t)
	f.nextBase = 100
	r := shortRequest()
	r.Kind, r.Size, r.Weight, r.Join, r.MaxWaiters, r.TTL = driver.Semaphore, 2, 2, true, 1, 30*time.Second
	var joined []*mvccpb.KeyValue
	revision, removed := int64(8), false
	f.writes = func(q *pb.TxnRequest) (*pb.TxnResponse, error) {
		if del := q.Success[0].GetRequestDeleteRange(); del != nil {
			removed = string(del.Key) == string(joined[2].Key)
			return &pb.TxnResponse{Succeeded: true}, nil
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.goneSession = ""
		if joined == nil {
			put := q.Failure[0].GetRequestTxn().Success[0].GetRequestPut()
			joined = []*mvccpb.KeyValue{
				entryAt(1, r, "holder"), entryAt(2, r, "waiter"),
				{Key: put.Key, CreateRevision: 9, Lease: put.Lease, Value: put.Value},
			}
			f.goneSession = string(q.Failure[1].GetRequestRange().Key)
		}
		revision++
		return refusalAt(revision, joined...), nil
	}
	if _, err := e.Take(t.Context(), r); !errors.Is(err, driver.ErrTooManyWaiters) {
		t.Errorf("Take: %v", err)
	}
	if !removed || e.ownedKeys.findLocked(r.Key, r.Owner) != nil {
		t.Error("the entry is there, or not forgotten")
	}
}

// The report that a lease has expired may call the engine, since observers are called from there.
func TestExpiryIsReportedWithoutTheMutex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e := newFakeEngine(t)
		r := shortRequest()
		e.ownedKeys.byKey[r.Key] = &ownedKey{
			Key:      r.Key,
			owner:    r.Owner,
			keyState: keyState{created: 10},
			granted:  true,
			removed:  make(chan struct{}),
		}
		reported := false
		e.Renew(
			t.Context(),
			[]driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}},
			func(_ int, err error) {
				if reported = driver.IsNo(err); !reported {
					t.Errorf("Renew: %v", err)
				}
				if !e.ownedKeys.mu.TryLock() {
					t.Error("the mutex is locked during the report")
					return
				}
				e.ownedKeys.mu.Unlock()
			},
		)
		if !reported {
			t.Error("nothing was reported")
		}
	})
}

// Keys that may be on many sessions, since those ended while outcomes were unknown, are removed by requests that
// servers accept.
func TestRemovalsAreNotTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		removed := map[string]bool{}
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if len(r.Success) > 128 {
				return nil, rpctypes.ErrGRPCTooManyOps
			}
			for _, op := range r.Success {
				onLease := op.GetRequestTxn().Compare[0]
				removed[fmt.Sprintf("%s %d", onLease.Key, onLease.GetLease())] = true
			}
			return &pb.TxnResponse{Succeeded: true}, nil
		}
		const owners, sessions = 40, 5
		var part []*ownedKey
		for i := range owners {
			owned := &ownedKey{freshPath: fmt.Sprint(i), keyState: keyState{path: fmt.Sprint(i)}}
			for s := range sessions {
				owned.etcdLeases = append(owned.etcdLeases, clientv3.LeaseID(s+1))
			}
			part = append(part, owned)
		}
		if err := e.ownedKeys.removeKeys(part); err != nil || len(removed) != owners*sessions {
			t.Errorf("%d removed of %d: %v", len(removed), owners*sessions, err)
		}
	})
}

// A TakeAll that comes too late for one owner does not forget the keys of the others.
func TestLateTakeAllNotesTheOtherKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		first, second := shortRequest(), shortRequest()
		first.Name, second.Name, second.Owner = "first", "second", "other"
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
			e.ownedKeys.mu.Lock()
			defer e.ownedKeys.mu.Unlock()
			e.ownedKeys.findLocked(first.Key, first.Owner).removed = make(chan struct{})
			return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 9}}, nil
		}
		if _, err := e.TakeAll(t.Context(), []driver.Request{first, second}); !errors.Is(err, errExpiredMeanwhile) {
			t.Errorf("TakeAll: %v", err)
		}
		e.ownedKeys.mu.Lock()
		defer e.ownedKeys.mu.Unlock()
		if owned := e.ownedKeys.findLocked(second.Key, second.Owner); owned == nil || owned.created != 9 {
			t.Errorf("known of the second: %+v", owned)
		}
	})
}

// With many owners of one name, such as readers, a call takes no longer than going through all of them a few times.
func TestManyOwnersOfAName(t *testing.T) {
	t.Parallel()
	_, e := newFakeEngine(t)
	const many, passes = 1000, 50
	seen := make(map[int]bool, many)
	var calling, searching []time.Duration
	for i := range many {
		start := time.Now()
		owned, err := e.ownedKeys.beginCall(t.Context(), waitRequest.Key, fmt.Sprint(i))
		called := time.Now()
		if err != nil || seen[owned.number] {
			t.Fatalf("owner %d: number %d, %v", i, owned.number, err)
		}
		seen[owned.number] = true
		e.ownedKeys.mu.Lock()
		nobody := e.ownedKeys.findLocked(waitRequest.Key, "nobody")
		e.ownedKeys.mu.Unlock()
		calling, searching = append(calling, called.Sub(start)), append(searching, time.Since(called))
		if nobody != nil {
			t.Fatalf("nobody is %+v", nobody)
		}
	}
	// The two alternate, so a busy machine makes both slower. A moment for which it did something else is no median.
	median := func(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[many/2] }
	if call, search := median(calling), median(searching); call > passes*search {
		t.Errorf("the call of one of %d owners took %v, and going through all of them %v", many, call, search)
	}
}
