package etcd_test

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// revoke ends the session on which an owner's key is, as an operator may, or the cluster after a long silence.
func revoke(t *testing.T, c *clientv3.Client, r driver.Request) {
	t.Helper()
	all, err := c.Get(t.Context(), etcd.DefaultPrefix, clientv3.WithPrefix())
	must(t, err)
	for _, kv := range all.Kvs {
		if strings.Contains(string(kv.Value), " "+etcd.MarkOf(r.Owner)+" ") {
			_, err := c.Revoke(t.Context(), clientv3.LeaseID(kv.Lease))
			must(t, err)
			return
		}
	}
	t.Fatal("the owner has no key")
}

// A holder whose session has ended is told with its next renewal, and the next one has the lock. What else the engine does goes on with another session.
func TestSessionOfAHolderIsRevoked(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r, other := asked("name"), asked("other")
	g := taken(t, a, r)
	taken(t, a, other)
	w := joined(t, b, asked("name"))
	revoke(t, client, r)
	token := w.granted(g.Token)
	lost(t, a, r)
	lost(t, a, other) // it was on the same session
	stillHeld(t, b, w.request)
	again := asked("other")
	if g := taken(t, a, again); g.Token <= token {
		t.Errorf("token %d follows %d", g.Token, token)
	}
	stillHeld(t, a, again)
}

// A waiter whose session has ended joins again, behind those who have come meanwhile, and is not taken for one who is next.
func TestSessionOfAWaiterIsRevoked(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b, c := engineOn(t, s.Addr()), engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := asked("name")
	g := taken(t, a, r)
	first := joined(t, b, asked("name"))
	second := joined(t, c, asked("name"))
	queued(t, a, "name", 2)
	revoke(t, client, first.request)
	queued(t, a, "name", 2)
	first.waits()
	second.waits()
	released(t, a, r)
	token := second.granted(g.Token)
	first.waits()
	released(t, c, second.request)
	first.granted(token)
}

// A waiter that waits for longer than its session lasts keeps its place.
func TestWaiterOutlivesNoSession(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := asked("name")
	r.TTL = time.Minute
	g := taken(t, a, r)
	short := asked("name")
	short.TTL = time.Second
	w := joined(t, b, short)
	before := connect(t, clientv3.Config{}, s.Addr())
	key, err := before.Get(t.Context(), etcd.DefaultPrefix, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend))
	must(t, err)
	time.Sleep(6 * time.Second) // longer than the session lasts that nobody keeps alive
	after, err := before.Get(t.Context(), string(key.Kvs[0].Key))
	must(t, err)
	if len(after.Kvs) != 1 || after.Kvs[0].CreateRevision != key.Kvs[0].CreateRevision {
		t.Errorf("the place of the waiter is another one: %v", after.Kvs)
	}
	w.waits()
	released(t, a, r)
	w.granted(g.Token)
}
