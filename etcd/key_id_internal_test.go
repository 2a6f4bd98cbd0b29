package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// keyHistory notes which keys are put and removed.
type keyHistory struct {
	mu      sync.Mutex
	put     []string
	removed []string
	broken  error // the error of removals
}

func (h *keyHistory) writes(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put != nil {
			h.put = append(h.put, string(put.Key))
		}
	}
	return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: int64(10 + len(h.put))}}, nil
}

func (h *keyHistory) deletes(r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removed = append(h.removed, string(r.Key))
	return &pb.DeleteRangeResponse{Deleted: 1}, h.broken
}

// requestBy is a request of another owner.
func requestBy(owner string) driver.Request {
	r := shortRequest()
	r.Owner = owner
	return r
}

func release(e *Engine, r driver.Request) error {
	return e.Release(context.Background(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
}

// Owners have the same etcd key of a name one after the other, since servers remember all keys that ever existed. Two
// owners at the same time have two keys.
func TestKeysAreReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var history keyHistory
		f.writes, f.deletions = history.writes, history.deletes
		for _, owner := range []string{"a", "b"} {
			if _, err := e.Take(t.Context(), requestBy(owner)); err != nil {
				t.Fatal(err)
			}
			if err := release(e, requestBy(owner)); err != nil {
				t.Fatal(err)
			}
		}
		for _, owner := range []string{"c", "d", "e"} {
			if _, err := e.Take(t.Context(), requestBy(owner)); err != nil {
				t.Fatal(err)
			}
		}
		if err := release(e, requestBy("d")); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Take(t.Context(), requestBy("f")); err != nil {
			t.Fatal(err)
		}
		first, second, third := pathOf("own"), pathOf("own.1"), pathOf("own.2")
		if want := []string{first, first, first, second, third, second}; !slices.Equal(history.put, want) {
			t.Errorf("put %q, want %q", history.put, want)
		}
		if want := []string{first, first, second}; !slices.Equal(history.removed, want) {
			t.Errorf("removed %q, want %q", history.removed, want)
		}
	})
}

// A removal without an answer may arrive at any later time, so no other owner ever gets the key.
func TestKeyIsNotReusedIfItsRemovalMayArriveLate(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testing.T, *fake, *keyHistory, *Engine){
		"release": func(t *testing.T, _ *fake, h *keyHistory, e *Engine) {
			h.broken = errors.New("the connection broke")
			if err := release(e, requestBy("a")); !errors.Is(err, h.broken) || driver.HadNoEffect(err) {
				t.Errorf("Release without an answer: %v", err)
			}
			h.broken = nil
		},
		"end": func(_ *testing.T, f *fake, h *keyHistory, _ *Engine) {
			var tried atomic.Bool
			f.mu.Lock()
			f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
				if isRemoval(r) && !tried.Swap(true) {
					return nil, errors.New("the connection broke")
				}
				return h.writes(r)
			}
			f.mu.Unlock()
			time.Sleep(5 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newFakeEngine(t)
				f.setQueue()
				var history keyHistory
				f.writes, f.deletions = history.writes, history.deletes
				if _, err := e.Take(t.Context(), requestBy("a")); err != nil {
					t.Fatal(err)
				}
				fail(t, f, &history, e)
				if err := release(e, requestBy("a")); !errors.Is(err, driver.ErrNotHeld) { // it turns out to be gone
					t.Error(err)
				}
				take := func() string {
					if _, err := e.Take(t.Context(), requestBy("b")); err != nil {
						t.Fatal(err)
					}
					if err := release(e, requestBy("b")); err != nil {
						t.Fatal(err)
					}
					return history.put[len(history.put)-1]
				}
				for range 2 {
					if at := take(); strings.HasPrefix(at, pathOf("own")) {
						t.Errorf("the next owner puts %q while a removal may be in flight", at)
					}
					time.Sleep(2 * defaultLateRequestTime) // by then the first owner is forgotten
				}
				if n := len(e.ownedKeys.byKey); n != 0 {
					t.Errorf("%d owners are not forgotten", n)
				}
			})
		})
	}
}

// An entry that may have been kept is not removed by its key alone.
func TestEntryThatMayBeKeptIsReadBeforeItsRemoval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var history keyHistory
		f.writes, f.deletions = history.writes, history.deletes
		r := waitRequest
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		f.setQueue(r.Owner)
		broken := errors.New("the connection broke")
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) { return nil, broken }
		hold := driver.Hold{Key: r.Key, Owner: r.Owner}
		if err := e.Release(t.Context(), driver.Release{Hold: hold, Keep: time.Minute}); !errors.Is(err, broken) {
			t.Errorf("Release that keeps, without an answer: %v", err)
		}
		_ = release(e, r)
		if len(history.removed) > 0 {
			t.Errorf("removed %q", history.removed)
		}
	})
}

// The first request for a name that is expected to be free is short. For a contended name it joins at once.
func TestContendedNameIsJoinedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newFakeEngine(t)
		var sent []bool // whether it joins
		f.setQueue("first")
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			joins := len(r.Failure) > 0 && r.Failure[0].GetRequestTxn() != nil
			sent = append(sent, joins)
			if !joins && len(r.Failure) > 0 {
				t.Errorf("a request for a name that is expected to be free asks for more if it is not: %v", r.Failure)
			}
			owners := f.reads(nil)
			owners.Header = &pb.ResponseHeader{Revision: 9}
			read := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: owners}}
			a := &pb.TxnResponse{Header: owners.Header}
			if joins {
				a.Responses = []*pb.ResponseOp{{}, read}
			}
			return a, nil
		}
		take := func(want ...bool) {
			t.Helper()
			sent = nil
			_, err := e.Take(t.Context(), waitRequest)
			if !errors.Is(err, driver.ErrHeld) || !slices.Equal(sent, want) {
				t.Errorf("requests that join: %v (%v), want %v", sent, err, want)
			}
		}
		take(false, true)
		take(true)
		time.Sleep(contendedFor)
		take(false, true)
	})
}
