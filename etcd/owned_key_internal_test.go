package etcd

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leasehold-go/leasehold/driver"
)

// isRemoval reports whether a transaction removes the waiter's key from the fake's session.
func isRemoval(r *pb.TxnRequest) bool {
	if len(r.Success) != 1 {
		return false
	}
	inner := r.Success[0].GetRequestTxn()
	return inner != nil && inner.Compare[0].GetLease() == 7 && inner.Success[0].GetRequestDeleteRange() != nil
}

// shortRequest is a Take that does not join.
func shortRequest() driver.Request {
	r := waitRequest
	r.Join, r.TTL = false, 2*time.Second
	return r
}

// If somebody keeps the options of calls from gRPC, the engine does not know whether a request was sent. Then it may
// have been.
func TestOutcomeIsUnknownWithoutCallOptions(t *testing.T) {
	t.Parallel()
	f, e := newFakeEngine(t)
	f.dropsCallOptions = true
	broken := errors.New("the connection broke")
	f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) { return nil, broken }
	if _, err := e.Take(t.Context(), shortRequest()); !errors.Is(err, broken) || driver.HadNoEffect(err) {
		t.Errorf("Take without an answer: %v", err)
	}
	f.deletions = func(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) { return nil, broken }
	if _, err := e.deleteKey(t.Context(), "key"); !errors.Is(err, broken) || driver.HadNoEffect(err) {
		t.Errorf("a removal without an answer: %v", err)
	}
}

// A Take has an effect if it has put a second entry of the owner there and could not remove it again.
func TestOutcomeIsUnknownIfAnEntryIsNotRemoved(t *testing.T) {
	t.Parallel()
	f, e := newFakeEngine(t)
	broken := errors.New("no connection")
	f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
		if f.unreachable.Swap(true) {
			return nil, broken
		}
		value := newRecord(shortRequest(), ownerMark(waitRequest.Owner)).encode()
		both := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{
			{Key: []byte(pathOf("another")), Value: value, CreateRevision: 3, ModRevision: 3, Lease: 7},
			{Key: []byte(pathOf(waitRequest.Owner)), Value: value, CreateRevision: 5, ModRevision: 5, Lease: 7},
		}}
		return &pb.TxnResponse{
			Header:    f.header(),
			Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponseRange{ResponseRange: both}}},
		}, nil
	}
	if _, err := e.Take(t.Context(), shortRequest()); !errors.Is(err, broken) || driver.HadNoEffect(err) {
		t.Errorf("Take with an entry that is left: %v", err)
	}
}

// A lock that is released while it moves to another session is forgotten, whichever answer comes last.
func TestMoveDoesNotBringBackAReleasedLock(t *testing.T) {
	t.Parallel()
	_, e := newFakeEngine(t)
	r := shortRequest()
	owned, err := e.ownedKeys.beginCall(t.Context(), r.Key, r.Owner)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{id: 7, base: 7, seconds: 60, gone: make(chan struct{})}
	own := &entry{path: pathOf("own"), created: 5}
	if err := e.ownedKeys.noteStored(owned, own.keyState(), s, true, time.Minute); err != nil {
		t.Fatal(err)
	}
	e.ownedKeys.noteGone(owned, own.created)
	err = e.ownedKeys.noteMoved(owned, own.created, own, s, time.Minute)
	if err != nil || e.ownedKeys.createdRevision(owned) != 0 {
		t.Errorf("it stands there, created at %d, %v", e.ownedKeys.createdRevision(owned), err)
	}
	e.ownedKeys.endCall(owned)
}

// A key that a request of unknown outcome may have put there is removed at its expiry, and again when the request
// cannot be in flight any more.
func TestLatePutIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		began := time.Now()
		var removed []time.Duration
		broken := errors.New("the connection broke")
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			if isRemoval(r) {
				removed = append(removed, time.Since(began).Round(time.Second))
				return &pb.TxnResponse{Succeeded: true}, nil
			}
			return nil, broken
		}
		if _, err := e.Take(t.Context(), shortRequest()); !errors.Is(err, broken) || driver.HadNoEffect(err) {
			t.Errorf("Take without an answer: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want := []time.Duration{2 * time.Second, 2*time.Second + defaultLateRequestTime}
		if !slices.Equal(removed, want) {
			t.Errorf("removed after %v, want %v", removed, want)
		}
		if n := len(e.ownedKeys.byKey); n != 0 || e.ownedKeys.deadlines.Len() != 0 {
			t.Errorf("%d owners are not forgotten", n)
		}
	})
}

// An expired lease is never renewed, even if its key cannot be removed at once. Its owner gets a new lease only after
// the key is removed.
func TestExpiredLeaseIsNeverRevived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var tries, takes atomic.Int64
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			switch {
			case !isRemoval(r):
				return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10 * takes.Add(1)}}, nil
			case tries.Add(1) <= 5:
				return nil, errors.New("the server is away")
			}
			return &pb.TxnResponse{Succeeded: true}, nil
		}
		r := shortRequest()
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(r.TTL + 100*time.Millisecond)
		synctest.Wait()
		e.Renew(
			t.Context(),
			[]driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner, Token: 10}, TTL: r.TTL}},
			func(_ int, err error) {
				if !errors.Is(err, driver.ErrNotHeld) {
					t.Errorf("a renewal behind the end: %v", err)
				}
			},
		)
		err := e.SetData(t.Context(), driver.DataSet{
			Hold: driver.Hold{Key: r.Key, Owner: r.Owner},
			Data: driver.Data{Value: []byte("late"), Token: 10, Number: 1},
		})
		if !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("data behind the end: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = e.Take(ctx, r)
		if !errors.Is(err, context.DeadlineExceeded) || !driver.HadNoEffect(err) || takes.Load() != 1 {
			t.Errorf("a Take before the old key is gone: %v", err)
		}
		synctest.Wait()
		if g, err := e.Take(t.Context(), r); err != nil || g.Token != 20 || tries.Load() != 6 {
			t.Errorf("a Take when the old key is gone: %+v, %v after %d tries to remove it", g, err, tries.Load())
		}
	})
}

// A renewal in flight keeps the lease from expiring, even if its answer comes late.
func TestLeaseDoesNotExpireWhileItIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var removed atomic.Bool
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			switch {
			case isRemoval(r):
				removed.Store(true)
			case len(r.Compare) == 0: // the read of a renewal
				time.Sleep(1500 * time.Millisecond)
				return nil, errors.New("no answer")
			}
			return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
		}
		r := shortRequest()
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		e.Renew(
			t.Context(),
			[]driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}},
			func(_ int, err error) {
				if err == nil || driver.IsNo(err) {
					t.Errorf("a renewal without an answer: %v", err)
				}
			},
		)
		if removed.Load() {
			t.Error("the lease was ended while it was being renewed")
		}
		time.Sleep(time.Second)
		if !removed.Load() {
			t.Error("the lease was not ended in its time")
		}
	})
}

// Once a take of unknown outcome is forgotten, no new entry names its session, whatever the owner has done meanwhile.
// So the session ends when its entries have left, and with it a key that arrives even later.
func TestSessionIsRetiredIfAKeyMayArriveLate(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	r := shortRequest()
	hold := driver.Hold{Key: r.Key, Owner: r.Owner}
	again := func(t *testing.T, f *fake, e *Engine) {
		f.mu.Lock()
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) {
			return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
		}
		f.mu.Unlock()
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Errorf("Take again: %v", err)
		}
	}
	for name, c := range map[string]struct {
		then  func(*testing.T, *fake, *Engine)
		known bool // all outcomes are known
	}{
		"given up": {then: func(*testing.T, *fake, *Engine) {}},
		"released": {then: func(t *testing.T, f *fake, e *Engine) {
			f.setQueue()
			if err := release(e, r); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("Release: %v", err)
			}
		}},
		"taken after all": {then: again},
		"taken and kept": {then: func(t *testing.T, f *fake, e *Engine) {
			again(t, f, e)
			f.setQueue(r.Owner)
			if err := e.Release(t.Context(), driver.Release{Hold: hold, Keep: time.Minute}); err != nil {
				t.Errorf("Release that keeps: %v", err)
			}
		}},
		"taken at once": {known: true, then: again},
		"a lost removal": {known: true, then: func(t *testing.T, f *fake, e *Engine) {
			again(t, f, e)
			f.deletions = func(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) { return nil, broken }
			if err := release(e, r); !errors.Is(err, broken) {
				t.Errorf("Release without an answer: %v", err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				f.nextBase = 7
				f.writes = func(w *pb.TxnRequest) (*pb.TxnResponse, error) {
					if len(w.Compare) > 0 {
						return nil, broken
					}
					return &pb.TxnResponse{Succeeded: true}, nil
				}
				if !c.known {
					if _, err := e.Take(t.Context(), r); !errors.Is(err, broken) {
						t.Errorf("Take without an answer: %v", err)
					}
				}
				f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
					return &pb.LeaseKeepAliveResponse{Header: f.header(), TTL: 100}, nil
				}
				c.then(t, f, e)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				s, _, err := e.sessions.get(t.Context(), sessionSeconds(r.TTL))
				if first := s.base == 7; err != nil || first != c.known {
					t.Errorf("the next one comes to session %d: %v", s.id, err)
				}
				if n := len(e.ownedKeys.byKey); n != 0 {
					t.Errorf("%d owners are not forgotten", n)
				}
			})
		})
	}
}
