package zookeeper_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// network stands between a client and its server. It can hold back what the client sends, or refuse all connections.
type network struct {
	to string

	mu    sync.Mutex
	held  bool
	gone  bool
	links []*heldConn
}

// heldConn is a connection through a network.
type heldConn struct {
	net.Conn
	of   *network
	kept []byte
}

func (n *network) dial(ctx context.Context, kind, _ string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return nil, errors.New("no route")
	}
	c, err := new(net.Dialer).DialContext(ctx, kind, n.to)
	if err != nil {
		return nil, err
	}
	l := &heldConn{Conn: c, of: n}
	n.links = append(n.links, l)
	return l, nil
}

// Write implements net.Conn.
func (l *heldConn) Write(b []byte) (int, error) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if l.of.held {
		l.kept = append(l.kept, b...) // TCP continues to try
		return len(b), nil
	}
	return l.Conn.Write(b)
}

// hold holds back what is sent from now on.
func (n *network) hold() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = true
}

// release delivers what was held back.
func (n *network) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = false
	for _, l := range n.links {
		_, _ = l.Conn.Write(l.kept) // the other side may have closed it
		l.kept = nil
	}
}

// cut refuses all connections.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = true
}

// What a client sends is held back for less than the time after which it gives up a connection. Then it takes a lock,
// through a follower that dies at once without having told the leader. So the leader last heard of the session before
// all that. It must end the session no earlier than the lease.
func TestStallBeforeATake(t *testing.T) {
	t.Parallel()
	const timeout = 12 * time.Second
	e := zookeeperserver.EnsembleForTest(t, 3, zookeeperserver.Config{Unsynced: true})
	followers, err := e.Followers()
	if err != nil {
		t.Fatal(err)
	}
	n := &network{to: followers[0].Addr()}
	a, err := zookeeper.New(t.Context(), e.Addrs(), zookeeper.WithSessionTimeout(timeout), zookeeper.WithDialer(n.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // its server is gone
	b := engineOn(t, timeout, followers[1].Addr())
	before := newRequest(a, "before")
	take(t, a, before)
	release(t, a, before)
	n.hold()
	time.Sleep(timeout * 65 / 100)
	type outcome struct {
		grant driver.Grant
		err   error
	}
	r := newRequest(a, "stalled")
	asked := driver.Now()
	done := make(chan outcome, 1)
	go func() {
		g, err := a.Take(t.Context(), r)
		done <- outcome{g, err}
	}()
	n.release()
	got := <-done
	n.cut()
	followers[0].Kill()
	if got.err != nil {
		t.Fatal(got.err)
	}
	ends := asked.Add(r.TTL).Time()
	if !got.grant.Start.IsZero() {
		ends = got.grant.Start.Add(r.TTL).Time()
	}
	next := queue(t, b, newRequest(b, "stalled"))
	if g := next.granted(t); g.Token <= got.grant.Token {
		t.Errorf("token %d follows %d", g.Token, got.grant.Token)
	}
	if left := ends.Sub(next.at); left > 0 {
		t.Errorf("another one was granted what the holder counts on for another %v", left)
	}
}
