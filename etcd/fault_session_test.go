package etcd_test

import (
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// revoke ends the session that an owner's key names, as a thawed leader does, which has missed that it was kept alive.
func revoke(t *testing.T, c *clientv3.Client, r driver.Request) {
	t.Helper()
	id := sessionOf(t, c, r)
	if id == 0 {
		t.Fatal("the owner has no key with a session")
	}
	_, err := c.Revoke(t.Context(), id)
	must(t, err)
}

// A holder whose session was taken from it goes on with another one, and nobody else gets in, though who waits sees at once that it is gone.
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
	eventually(t, "the waiter has put the lock on a lease that ends", func() bool {
		w.waits()
		return sessionOf(t, client, r) == 0
	})
	_, _, ends := keyOf(t, client, r)
	stillHeld(t, a, r)
	stillHeld(t, a, other)                     // it had the same session
	_, err := client.Revoke(t.Context(), ends) // as etcd does when it has run out
	must(t, err)
	stillHeld(t, a, r)
	w.waits()
	if created, _, _ := keyOf(t, client, r); created != int64(g.Token) {
		t.Errorf("the lock was granted with token %d, and now its key is of %d", g.Token, created)
	}
	released(t, a, r)
	w.granted(g.Token)
}

// A holder that is gone, as is its session, keeps others out for as long as it might believe that it holds, and for not much longer.
func TestAHolderThatIsGoneIsWaitedOut(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, err := etcd.Open("etcd://" + s.Addr())
	must(t, err)
	r := asked("name")
	r.TTL = 5 * time.Second
	g := taken(t, a, r)
	must(t, a.Close()) // it does no more than a process that was killed
	w := joined(t, engineOn(t, s.Addr()), asked("name"))
	began := time.Now()
	revoke(t, client, r)
	w.granted(g.Token)
	if took := w.at.Sub(began); took < r.TTL {
		t.Errorf("the next one holds %v after the session of a lease of %v has ended", took, r.TTL)
	}
}

// What an older version has stored, on a lease that is its session, is in the way of others, and free when that ends.
func TestALockOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	session, err := client.Grant(t.Context(), 60)
	must(t, err)
	path := locks + "name\x00OLDENGINE"
	put, err := client.Put(t.Context(), path, "2 30000 1 1 "+etcd.MarkOf("older")+" host:42 program", clientv3.WithLease(session.ID))
	must(t, err)
	if _, err := e.Take(t.Context(), asked("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take: %v, want ErrHeld", err)
	}
	all, err := e.List(t.Context(), driver.Query{})
	must(t, err)
	if len(all) != 1 || all[0].Holders[0].Token != uint64(put.Header.Revision) || all[0].Holders[0].Holder != "host:42 program" {
		t.Errorf("listed %+v", all)
	}
	w := joined(t, e, asked("name"))
	time.Sleep(1500 * time.Millisecond) // it has looked whether that one lives
	w.waits()
	_, err = client.Revoke(t.Context(), session.ID)
	must(t, err)
	w.granted(uint64(put.Header.Revision))
}

// A waiter whose session has ended keeps its place, with another session.
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
	before := sessionOf(t, client, first.request)
	revoke(t, client, first.request)
	eventually(t, "it has another session", func() bool {
		now := sessionOf(t, client, first.request)
		return now != 0 && now != before
	})
	queued(t, a, "name", 2)
	first.waits()
	second.waits()
	released(t, a, r)
	token := first.granted(g.Token)
	second.waits()
	released(t, b, first.request)
	second.granted(token)
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
	key, err := before.Get(t.Context(), locks, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend))
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
