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

// A session lasts for longer than a lock on it may go without a renewal, and for not much longer, and there are few of them.
func TestClasses(t *testing.T) {
	t.Parallel()
	all := make(map[int64]bool)
	for ttl := 10 * time.Millisecond; ttl <= maxTTL; ttl += max(ttl/100, time.Millisecond) {
		s := class(ttl)
		all[s] = true
		if lasts := lasting(s); lasts*3/4 < ttl/3 || lasts > ttl*5/8+3*time.Second {
			t.Errorf("the session for locks of %v lasts %v", ttl, lasts)
		}
		if lasts := lasting(baseOf(s)); lasts/2 < 4*ttl {
			t.Errorf("the base for locks of %v lasts %v", ttl, lasts)
		}
	}
	if len(all) > 200 {
		t.Errorf("there are %d classes", len(all))
	}
}

// A leader that has been replaced without knowing says that a session goes on, which then ends at the other leader's time.
func TestTheWordOfAnOldLeaderDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{term: 3}
		asked := 0
		f.alive = func() (*pb.LeaseKeepAliveResponse, error) {
			if asked++; asked <= 2 { // of the old one, and then of the new
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
		asked = -100 // and if nobody but the old one answers
		time.Sleep(5 * time.Second)
		if _, _, err := e.sessions.get(t.Context(), 10); !errors.Is(err, errTerm) {
			t.Errorf("a session that only an old leader keeps alive: %v", err)
		}
		if left := e.sessions.safe(s, 10*time.Second, now); left > lasting(10) {
			t.Errorf("the session lasts for another %v", left)
		}
	})
}

// All who need a session at the same moment share one request, and one who gives up does not take it away from the others.
func TestASessionIsAskedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{term: 1}
		asked := 0
		f.alive = func() (*pb.LeaseKeepAliveResponse, error) {
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

// Whoever renews locks may look at their session while others keep it alive.
func TestASessionIsLookedAtWhileItIsKeptAlive(t *testing.T) {
	t.Parallel()
	f, e := newWaited(t)
	f.writes = func(r *pb.TxnRequest) (*pb.TxnResponse, error) {
		return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 10}}, nil
	}
	r := briefly()
	if _, err := e.Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() {
		for _, s := range e.sessions.all {
			for range 100 {
				if err := e.sessions.check(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 100 {
		e.sort([]driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}}, func(int, error) { t.Error("it is over") })
	}
}
