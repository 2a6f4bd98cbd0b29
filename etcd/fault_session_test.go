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

// revokeSession ends the session that an owner's key names, as a thawed old leader does that has missed its keepalives.
func revokeSession(t *testing.T, c *clientv3.Client, r driver.Request) {
	t.Helper()
	id := sessionOf(t, c, r)
	if id == 0 {
		t.Fatal("the owner has no key with a session")
	}
	_, err := c.Revoke(t.Context(), id)
	must(t, err)
}

// A holder whose session was revoked goes on with another one. Nobody else is granted the lock, although waiters see at
// once that the session is gone.
func TestSessionOfAHolderIsRevoked(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r, other := newRequest("name"), newRequest("other")
	g := mustTake(t, a, r)
	mustTake(t, a, other)
	w := joinQueue(t, b, newRequest("name"))
	revokeSession(t, client, r)
	eventually(t, "the waiter has put the lock on a lease that ends", func() bool {
		w.mustWait()
		return sessionOf(t, client, r) == 0
	})
	_, _, ends := keyOf(t, client, r)
	mustRenew(t, a, r)
	mustRenew(t, a, other)                     // it had the same session
	_, err := client.Revoke(t.Context(), ends) // as etcd does when it has expired
	must(t, err)
	mustRenew(t, a, r)
	w.mustWait()
	if created, _, _ := keyOf(t, client, r); created != int64(g.Token) {
		t.Errorf("the lock was granted with token %d, and now its key is of %d", g.Token, created)
	}
	mustRelease(t, a, r)
	w.mustBeGranted(g.Token)
}

// A dead holder whose session has ended keeps others out for as long as it might believe that it is the holder.
func TestGraceOfADeadHolder(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, err := etcd.Open("etcd://" + s.Addr())
	must(t, err)
	r := newRequest("name")
	r.TTL = 5 * time.Second
	g := mustTake(t, a, r)
	must(t, a.Close()) // releases nothing, like a killed process
	w := joinQueue(t, engineOn(t, s.Addr()), newRequest("name"))
	began := time.Now()
	revokeSession(t, client, r)
	w.mustBeGranted(g.Token)
	if took := w.grantedAt.Sub(began); took < r.TTL {
		t.Errorf("the next one holds %v after the session of a lease of %v has ended", took, r.TTL)
	}
}

// A lock of an older version, which names no session, keeps others out until its etcd lease ends.
func TestLockOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	session, err := client.Grant(t.Context(), 60)
	must(t, err)
	path := lockPrefix + "name\x00OLDENGINE"
	record := "2 30000 1 1 " + etcd.OwnerMark("older") + " host:42 program"
	put, err := client.Put(t.Context(), path, record, clientv3.WithLease(session.ID))
	must(t, err)
	if _, err := e.Take(t.Context(), newRequest("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take: %v, want ErrHeld", err)
	}
	all, err := e.List(t.Context(), driver.Query{})
	must(t, err)
	if len(all) != 1 || all[0].Holders[0].Token != uint64(put.Header.Revision) ||
		all[0].Holders[0].Holder != "host:42 program" {
		t.Errorf("listed %+v", all)
	}
	w := joinQueue(t, e, newRequest("name"))
	time.Sleep(1500 * time.Millisecond) // by now it has checked the sessions before it
	w.mustWait()
	_, err = client.Revoke(t.Context(), session.ID)
	must(t, err)
	w.mustBeGranted(uint64(put.Header.Revision))
}

// A waiter whose session was revoked keeps its place, with another session.
func TestSessionOfAWaiterIsRevoked(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b, c := engineOn(t, s.Addr()), engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := newRequest("name")
	g := mustTake(t, a, r)
	first := joinQueue(t, b, newRequest("name"))
	second := joinQueue(t, c, newRequest("name"))
	awaitQueue(t, a, "name", 2)
	before := sessionOf(t, client, first.request)
	revokeSession(t, client, first.request)
	eventually(t, "it has another session", func() bool {
		now := sessionOf(t, client, first.request)
		return now != 0 && now != before
	})
	awaitQueue(t, a, "name", 2)
	first.mustWait()
	second.mustWait()
	mustRelease(t, a, r)
	token := first.mustBeGranted(g.Token)
	second.mustWait()
	mustRelease(t, b, first.request)
	second.mustBeGranted(token)
}

// A waiter keeps its place when it waits for longer than its session lasts.
func TestWaiterKeepsItsSessionAlive(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := newRequest("name")
	r.TTL = time.Minute
	g := mustTake(t, a, r)
	short := newRequest("name")
	short.TTL = time.Second
	w := joinQueue(t, b, short)
	before := connect(t, clientv3.Config{}, s.Addr())
	key, err := before.Get(t.Context(), lockPrefix, clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend))
	must(t, err)
	time.Sleep(6 * time.Second) // longer than a session without keepalives
	after, err := before.Get(t.Context(), string(key.Kvs[0].Key))
	must(t, err)
	if len(after.Kvs) != 1 || after.Kvs[0].CreateRevision != key.Kvs[0].CreateRevision {
		t.Errorf("the waiter has another entry: %v", after.Kvs)
	}
	w.mustWait()
	mustRelease(t, a, r)
	w.mustBeGranted(g.Token)
}
