package etcd_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/cable"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// A waiter does not miss a grant, whatever happens to its connection meanwhile.
func TestConnectionOfAWaiterBreaks(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	// compact forgets the whole history.
	compact := func(t *testing.T) {
		put, err := client.Put(t.Context(), "any", "thing")
		must(t, err)
		if _, err = client.Compact(t.Context(), put.Header.Revision); !errors.Is(err, rpctypes.ErrCompacted) {
			must(t, err) // otherwise another test has compacted more
		}
	}
	for name, harm := range map[string]func(t *testing.T, c *cable.Cable, release func()){
		"it is cut": func(_ *testing.T, c *cable.Cable, release func()) {
			c.Cut()
			release()
		},
		"it is cut after the release": func(_ *testing.T, c *cable.Cable, release func()) {
			c.Freeze()
			release()
			c.Cut()
			c.Thaw()
		},
		"it is frozen": func(_ *testing.T, c *cable.Cable, release func()) {
			c.Freeze()
			release()
			time.Sleep(time.Second)
			c.Thaw()
		},
		"nobody can connect": func(t *testing.T, c *cable.Cable, release func()) {
			c.Refuse()
			c.Cut()
			release()
			time.Sleep(time.Second)
			must(t, c.Allow())
		},
		"history is compacted": func(t *testing.T, c *cable.Cable, release func()) {
			c.Refuse()
			c.Cut()
			release()
			compact(t)
			must(t, c.Allow())
		},
		"history is compacted before the release": func(t *testing.T, c *cable.Cable, release func()) {
			c.Refuse()
			c.Cut()
			compact(t)
			must(t, c.Allow())
			release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := cable.ForTest(t, s.Addr())
			a, b := engineOn(t, s.Addr()), engineOn(t, link.Addr())
			r := newRequest(name)
			g := mustTake(t, a, r)
			w := joinQueue(t, b, newRequest(name))
			time.Sleep(50 * time.Millisecond) // it most likely watches by now
			w.mustWait()
			harm(t, link, func() { mustRelease(t, a, r) })
			fixed := time.Now()
			w.mustBeGranted(g.Token)
			t.Logf("granted %v after the connection was restored", w.grantedAt.Sub(fixed))
			mustRenew(t, b, w.request)
		})
	}
}

// A holder that is cut off loses the lock and knows it. The next one is granted the lock after that.
func TestHolderIsCutOff(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	link := cable.ForTest(t, s.Addr())
	a, b := engineOn(t, link.Addr()), engineOn(t, s.Addr())
	r := newRequest("name")
	r.TTL = 2 * time.Second
	g := mustTake(t, a, r)
	mustRenew(t, a, r)
	began := time.Now()
	link.Freeze()
	w := joinQueue(t, b, newRequest("name"))
	w.mustBeGranted(g.Token)
	if took := w.grantedAt.Sub(began); took < r.TTL-100*time.Millisecond { // the renewal was sent a moment earlier
		t.Errorf("another has the lock after %v: two hold it", took)
	} else {
		t.Logf("the next has the lock %v after a holder with a ttl of %v was cut off", took, r.TTL)
	}
	link.Thaw()
	mustBeLost(t, a, r)
	mustRelease(t, a, r)
	mustRenew(t, b, w.request)
}

// A member that cannot be reached is soon tried again, however long that lasts.
func TestUnreachableMemberIsRetried(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	tries := make(chan time.Time, 100)
	go func() {
		defer close(tries)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // never serve anything
			tries <- time.Now()
		}
	}()
	defer func() {
		must(t, listener.Close())
		for range tries {
		}
	}()
	e := engineOn(t, listener.Addr().String())
	if _, err := e.Take(t.Context(), newRequest("name")); err == nil || driver.IsNo(err) {
		t.Errorf("Take: %v", err)
	}
	began := time.Now()
	for range 7 { // gRPC's defaults take more than ten seconds for the fifth attempt, and ever longer
		select {
		case <-tries:
		case <-time.After(testTimeout):
			t.Fatal("it is not tried again")
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("seven tries took %v", took)
	}
}
