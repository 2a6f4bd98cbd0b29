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

// ledger notes which keys are put and removed.
type ledger struct {
	mu      sync.Mutex
	put     []string
	removed []string
	broken  error // what a removal is answered with, if that is not nil
}

func (l *ledger) writes(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range r.Success {
		if put := op.GetRequestPut(); put != nil {
			l.put = append(l.put, string(put.Key))
		}
	}
	return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: int64(10 + len(l.put))}}, nil
}

func (l *ledger) deletes(r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed = append(l.removed, string(r.Key))
	return &pb.DeleteRangeResponse{Deleted: 1}, l.broken
}

// by is a request of another owner.
func by(owner string) driver.Request {
	r := briefly()
	r.Owner = owner
	return r
}

func release(e *Engine, r driver.Request) error {
	return e.Release(context.Background(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}})
}

// One owner after the other has the same key of a name, as servers remember all keys that there ever were. Two at the same time have two.
func TestKeysAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		var l ledger
		f.writes, f.deletions = l.writes, l.deletes
		for _, owner := range []string{"a", "b"} {
			if _, err := e.Take(t.Context(), by(owner)); err != nil {
				t.Fatal(err)
			}
			if err := release(e, by(owner)); err != nil {
				t.Fatal(err)
			}
		}
		for _, owner := range []string{"c", "d", "e"} {
			if _, err := e.Take(t.Context(), by(owner)); err != nil {
				t.Fatal(err)
			}
		}
		if err := release(e, by("d")); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Take(t.Context(), by("f")); err != nil {
			t.Fatal(err)
		}
		first, second, third := pathOf("own"), pathOf("own.1"), pathOf("own.2")
		if want := []string{first, first, first, second, third, second}; !slices.Equal(l.put, want) {
			t.Errorf("put %q, want %q", l.put, want)
		}
		if want := []string{first, first, second}; !slices.Equal(l.removed, want) {
			t.Errorf("removed %q, want %q", l.removed, want)
		}
	})
}

// A removal without an answer may come late, and nobody knows how late, so nobody else ever has the key.
func TestAKeyIsNotUsedAgainIfItsRemovalMayComeLate(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testing.T, *fake, *ledger, *Engine){
		"release": func(t *testing.T, _ *fake, l *ledger, e *Engine) {
			l.broken = errors.New("the connection broke")
			if err := release(e, by("a")); !errors.Is(err, l.broken) || driver.HadNoEffect(err) {
				t.Errorf("Release without an answer: %v", err)
			}
			l.broken = nil
		},
		"end": func(_ *testing.T, f *fake, l *ledger, _ *Engine) {
			var tried atomic.Bool
			f.mu.Lock()
			f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
				if isRemoval(r) && !tried.Swap(true) {
					return nil, errors.New("the connection broke")
				}
				return l.writes(r)
			}
			f.mu.Unlock()
			time.Sleep(5 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, e := newWaited(t)
				f.stand()
				var l ledger
				f.writes, f.deletions = l.writes, l.deletes
				if _, err := e.Take(t.Context(), by("a")); err != nil {
					t.Fatal(err)
				}
				fail(t, f, &l, e)
				if err := release(e, by("a")); !errors.Is(err, driver.ErrNotHeld) { // it turns out to be gone
					t.Error(err)
				}
				take := func() string {
					if _, err := e.Take(t.Context(), by("b")); err != nil {
						t.Fatal(err)
					}
					if err := release(e, by("b")); err != nil {
						t.Fatal(err)
					}
					return l.put[len(l.put)-1]
				}
				for range 2 {
					if at := take(); strings.HasPrefix(at, pathOf("own")) {
						t.Errorf("the next owner puts %q while a removal may be under way", at)
					}
					time.Sleep(2 * defaultLateness) // when the first owner is forgotten
				}
				if n := len(e.members.all); n != 0 {
					t.Errorf("%d members are not forgotten", n)
				}
			})
		})
	}
}

// Whoever may have left its place to nobody does not remove it by its key alone.
func TestAPlaceThatMayBeKeptIsNotRemovedUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		var l ledger
		f.writes, f.deletions = l.writes, l.deletes
		r := waited
		if _, err := e.Take(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		f.stand(r.Owner)
		broken := errors.New("the connection broke")
		f.writes = func(*pb.TxnRequest) (*pb.TxnResponse, error) { return nil, broken }
		hold := driver.Hold{Key: r.Key, Owner: r.Owner}
		if err := e.Release(t.Context(), driver.Release{Hold: hold, Keep: time.Minute}); !errors.Is(err, broken) {
			t.Errorf("Release that keeps, without an answer: %v", err)
		}
		_ = release(e, r)
		if len(l.removed) > 0 {
			t.Errorf("removed %q", l.removed)
		}
	})
}

// The first request for a name that is expected to be free is small; where rivals were seen, it joins at once.
func TestWhoeverExpectsRivalsJoinsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, e := newWaited(t)
		var sent []bool // whether it joins
		f.stand("first")
		f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
			joins := r.Failure[0].GetRequestTxn() != nil
			sent = append(sent, joins)
			owners := f.reads(nil)
			owners.Header = &pb.ResponseHeader{Revision: 9}
			read := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: owners}}
			a := &pb.TxnResponse{Header: owners.Header, Responses: []*pb.ResponseOp{read}}
			if joins {
				a.Responses = []*pb.ResponseOp{{}, read}
			}
			return a, nil
		}
		take := func(want ...bool) {
			t.Helper()
			sent = nil
			if _, err := e.Take(t.Context(), waited); !errors.Is(err, driver.ErrHeld) || !slices.Equal(sent, want) {
				t.Errorf("requests that join: %v (%v), want %v", sent, err, want)
			}
		}
		take(false, true)
		take(true)
		time.Sleep(rivalry)
		take(false, true)
	})
}
