package etcd

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leasehold-go/leasehold/driver"
)

// A session lasts a little longer than a lock on it may go without a renewal, and there are few different lengths.
func TestSessionSeconds(t *testing.T) {
	t.Parallel()
	all := make(map[int64]bool)
	for ttl := 10 * time.Millisecond; ttl <= maxTTL; ttl += max(ttl/100, time.Millisecond) {
		s := sessionSeconds(ttl)
		all[s] = true
		if lasts := validity(s); lasts*3/4 < ttl/3 || lasts > ttl*5/8+3*time.Second {
			t.Errorf("the session for locks of %v lasts %v", ttl, lasts)
		}
		if lasts := validity(baseSeconds(s)); lasts/2 < 4*ttl {
			t.Errorf("the base for locks of %v lasts %v", ttl, lasts)
		}
	}
	if len(all) > 200 {
		t.Errorf("there are %d classes", len(all))
	}
}

// A leader that was replaced without knowing it confirms a keepalive, but the session ends when the new leader says so.
func TestKeepaliveOfAnOldLeaderDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{term: 3}
		asked := 0
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
			if asked++; asked <= 2 { // by the old one, and then by the new one
				return &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 2}, TTL: 100}, nil
			}
			return &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 3}, TTL: 100}, nil
		}
		e := f.engine(t)
		s, start, err := e.sessions.get(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		again, now, err := e.sessions.get(t.Context(), 10)
		if err != nil || again != s || asked != 3 || now.Since(start) < 5*time.Second {
			t.Errorf("asked %d times: %v, %v", asked, again == s, err)
		}
		asked = -100 // now only the old one answers
		time.Sleep(5 * time.Second)
		if _, _, err := e.sessions.get(t.Context(), 10); !errors.Is(err, errOldLeader) {
			t.Errorf("a session that only an old leader keeps alive: %v", err)
		}
		if left := e.sessions.safeFor(s, 10*time.Second, now); left > validity(10) {
			t.Errorf("the session lasts for another %v", left)
		}
	})
}

// All callers that need a session at the same moment share one request, and one that gives up does not take it away
// from the others.
func TestKeepaliveIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{term: 1}
		asked := 0
		f.keepalives = func() (*pb.LeaseKeepAliveResponse, error) {
			asked++
			return &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{RaftTerm: 1}, TTL: 100}, nil
		}
		e := f.engine(t)
		if _, _, err := e.sessions.get(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		for range 50 {
			go func() {
				if _, _, err := e.sessions.get(t.Context(), 10); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// Renewals may read their session while others keep it alive.
func TestSessionIsReadWhileItIsKeptAlive(t *testing.T) {
	t.Parallel()
	f, e := newFakeEngine(t)
	f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
		return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
	}
	r := shortRequest()
	if _, err := e.Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() {
		for _, s := range e.sessions.bySeconds {
			for range 100 {
				if err := e.sessions.verify(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 100 {
		batch := []driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}}
		e.groupBySession(batch, func(int, error) { t.Error("the lease has expired") })
	}
}
