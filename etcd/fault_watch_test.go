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

// Whatever happens to the connection of one who waits, the grant is not missed, although it happens meanwhile.
func TestConnectionOfAWaiterBreaks(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	// compact leaves nothing of what has happened.
	compact := func(t *testing.T) {
		put, err := client.Put(t.Context(), "any", "thing")
		must(t, err)
		if _, err = client.Compact(t.Context(), put.Header.Revision); !errors.Is(err, rpctypes.ErrCompacted) { // another test has gone further
			must(t, err)
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
			line := cable.ForTest(t, s.Addr())
			a, b := engineOn(t, s.Addr()), engineOn(t, line.Addr())
			r := asked(name)
			g := taken(t, a, r)
			w := joined(t, b, asked(name))
			time.Sleep(50 * time.Millisecond) // it most likely watches by now
			w.waits()
			harm(t, line, func() { released(t, a, r) })
			mended := time.Now()
			w.granted(g.Token)
			t.Logf("granted %v after the connection was mended", w.at.Sub(mended))
			stillHeld(t, b, w.request)
		})
	}
}

// One who is cut off loses the lock, and knows; who comes next has it after that.
func TestHolderIsCutOff(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	line := cable.ForTest(t, s.Addr())
	a, b := engineOn(t, line.Addr()), engineOn(t, s.Addr())
	r := asked("name")
	r.TTL = 2 * time.Second
	g := taken(t, a, r)
	stillHeld(t, a, r)
	began := time.Now()
	line.Freeze()
	w := joined(t, b, asked("name"))
	w.granted(g.Token)
	if took := w.at.Sub(began); took < r.TTL-100*time.Millisecond { // the renewal was sent a moment before
		t.Errorf("another has the lock after %v: two hold it", took)
	} else {
		t.Logf("the next has the lock %v after a holder with a ttl of %v was cut off", took, r.TTL)
	}
	line.Thaw()
	lost(t, a, r)
	released(t, a, r)
	stillHeld(t, b, w.request)
}

// One that cannot be reached is tried again soon, however long that lasts.
func TestUnreachableMemberIsTriedAgain(t *testing.T) {
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
			_ = conn.Close() // which is no welcome
			tries <- time.Now()
		}
	}()
	defer func() {
		must(t, listener.Close())
		for range tries {
		}
	}()
	e := engineOn(t, listener.Addr().String())
	if _, err := e.Take(t.Context(), asked("name")); err == nil || driver.IsNo(err) {
		t.Errorf("Take: %v", err)
	}
	began := time.Now()
	for range 7 { // gRPC by itself takes ten seconds and more for the fifth, and ever longer
		select {
		case <-tries:
		case <-time.After(patience):
			t.Fatal("it is not tried again")
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("seven tries took %v", took)
	}
}
