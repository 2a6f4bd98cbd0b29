package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// lockPrefix is what the keys of locks begin with.
const lockPrefix = etcd.DefaultPrefix + "lock/"

// keyOf reads the key of an owner. It returns zeros if there is none. The etcd lease is its base.
func keyOf(t *testing.T, c *clientv3.Client, r driver.Request) (created, modified int64, lease clientv3.LeaseID) {
	t.Helper()
	all, err := c.Get(t.Context(), lockPrefix, clientv3.WithPrefix())
	must(t, err)
	for _, kv := range all.Kvs {
		if strings.Contains(string(kv.Value), " "+etcd.OwnerMark(r.Owner)) {
			return kv.CreateRevision, kv.ModRevision, clientv3.LeaseID(kv.Lease)
		}
	}
	return 0, 0, 0
}

// sessionOf returns the session that the key of an owner names, or 0.
func sessionOf(t *testing.T, c *clientv3.Client, r driver.Request) clientv3.LeaseID {
	t.Helper()
	all, err := c.Get(t.Context(), lockPrefix, clientv3.WithPrefix())
	must(t, err)
	for _, kv := range all.Kvs {
		if _, named, found := strings.Cut(string(kv.Value), " "+etcd.OwnerMark(r.Owner)+"@"); found {
			id, _, _ := strings.Cut(named, ".")
			session, err := strconv.ParseInt(id, 16, 64)
			must(t, err)
			return clientv3.LeaseID(session)
		}
	}
	return 0
}

// All locks of a process with about the same ttl share one session, and renewing them writes nothing.
func TestManyLocksOneSessionNoWrites(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	batch := make([]driver.Renewal, 130) // more than one read can confirm
	var takers sync.WaitGroup
	for i := range batch {
		takers.Go(func() {
			r := newRequest(fmt.Sprint(i))
			r.TTL = 20 * time.Second
			batch[i] = driver.Renewal{Hold: holdOf(r), TTL: r.TTL}
			g, err := e.Take(t.Context(), r)
			if err != nil {
				t.Error(err)
			}
			batch[i].Token = g.Token
		})
	}
	takers.Wait()
	leases, err := client.Leases(t.Context())
	must(t, err)
	if n := len(leases.Leases); n != 2 { // the session and its base
		t.Errorf("%d locks are on %d leases of etcd", len(batch), n)
	}
	sessions, err := client.Get(t.Context(), etcd.DefaultPrefix+"session/", clientv3.WithPrefix())
	must(t, err)
	session := clientv3.LeaseID(sessions.Kvs[0].Lease)
	left := func() int64 {
		l, err := client.TimeToLive(t.Context(), session)
		must(t, err)
		return l.TTL
	}
	first := left()
	time.Sleep(3100 * time.Millisecond) // so that the session needs a keepalive
	writes := func() string {
		before, err := client.Status(t.Context(), s.Addr())
		must(t, err)
		for range 3 {
			e.Renew(t.Context(), batch, func(i int, err error) {
				if err != nil {
					t.Errorf("item %d: %v", i, err)
				}
			})
		}
		after, err := client.Status(t.Context(), s.Addr())
		must(t, err)
		if after.Header.Revision == before.Header.Revision && after.RaftIndex == before.RaftIndex {
			return ""
		}
		return fmt.Sprintf("renewals took the revision from %d to %d, and the log from %d to %d",
			before.Header.Revision, after.Header.Revision, before.RaftIndex, after.RaftIndex)
	}
	// A server that has just started writes once by itself: the version of its cluster.
	if wrong := writes(); wrong != "" {
		if wrong = writes(); wrong != "" {
			t.Error(wrong)
		}
	}
	if now := left(); now < first-1 {
		t.Errorf("the session lasts for another %d s, and for %d s when it began", now, first)
	}
}

// A lock that is not renewed expires, although another lock keeps its session alive. A lock of a dead process expires
// some time after the session, also for takes that do not wait.
func TestLockExpiresBeforeItsSession(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	e, err := etcd.Open("etcd://" + s.Addr())
	must(t, err)
	dropped, held := newRequest("dropped"), newRequest("held")
	dropped.TTL, held.TTL = 2050*time.Millisecond, 2800*time.Millisecond // both on one session
	const grace = 4 * time.Second
	began := time.Now()
	mustTake(t, e, held)
	mustTake(t, e, dropped)
	_, _, lease := keyOf(t, client, dropped)
	eventually(t, "the lock that is not renewed ends", func() bool {
		mustRenew(t, e, held)
		created, _, _ := keyOf(t, client, dropped)
		return created == 0
	})
	if took := time.Since(began); took < dropped.TTL {
		t.Errorf("a lease of %v ended after %v", dropped.TTL, took)
	}
	if _, _, on := keyOf(t, client, held); on != lease {
		t.Errorf("the session of the other lock has changed")
	}
	mustBeLost(t, e, dropped)
	mustRenew(t, e, held)

	must(t, e.Close()) // releases nothing, like a dead process
	other := engineOn(t, s.Addr())
	crashed := time.Now()
	eventually(t, "the lock of one who is gone is free", func() bool {
		r := newRequest("held")
		_, err := other.Take(t.Context(), r)
		return err == nil
	})
	if took := time.Since(crashed); took < grace {
		t.Errorf("it was free %v after the last renewal of a lease of %v", took, held.TTL)
	}
}

// A renewal for longer than the session lasts moves the lock to another one. It stays the same lock, at the same place.
func TestLongerRenewalMovesTheLock(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	r := newRequest("name")
	g := mustTake(t, e, r)
	created, _, short := keyOf(t, client, r)
	if created != int64(g.Token) {
		t.Errorf("token %d of a key that was created at %d", g.Token, created)
	}
	r.TTL = time.Hour
	mustRenew(t, e, r)
	again, modified, long := keyOf(t, client, r)
	if again != created || long == short {
		t.Errorf("created at %d, and before at %d; the same session: %v", again, created, long == short)
	}
	left, err := client.TimeToLive(t.Context(), long)
	must(t, err)
	if left.TTL < 3600 {
		t.Errorf("the session lasts for another %d s", left.TTL)
	}
	r.TTL = time.Second
	mustRenew(t, e, r) // for no less than before
	if _, same, on := keyOf(t, client, r); same != modified || on != long {
		t.Errorf("a renewal for a shorter time has changed the key")
	}
	st, err := e.List(t.Context(), driver.Query{})
	must(t, err)
	if len(st) != 1 || st[0].Holders[0].TTL < 50*time.Minute {
		t.Errorf("listed %+v", st)
	}
}

// Locks leave a retired session a few at a time, with each renewal, so that many do not write at once. Nothing is lost:
// they are renewed all the same, and stay the same locks.
func TestRetiredSessionIsLeftStepByStep(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	const many, atOnce = 20, 16
	var batch []driver.Renewal
	for i := range many {
		r := newRequest(fmt.Sprint(i))
		batch = append(batch, driver.Renewal{Hold: holdOf(r), TTL: r.TTL})
		batch[i].Token = mustTake(t, e, r).Token
	}
	_, _, before := keyOf(t, client, driver.Request{Owner: batch[0].Owner})
	etcd.RetireSessions(e)
	for _, want := range []int{atOnce, many, many} {
		e.Renew(t.Context(), batch, func(i int, err error) {
			if err != nil {
				t.Errorf("item %d: %v", i, err)
			}
		})
		all, err := client.Get(t.Context(), lockPrefix, clientv3.WithPrefix())
		must(t, err)
		moved := 0
		for _, kv := range all.Kvs {
			if kv.Lease != int64(before) {
				moved++
			}
			same := func(r driver.Renewal) bool { return r.Token == uint64(kv.CreateRevision) }
			if !slices.ContainsFunc(batch, same) {
				t.Errorf("the key %q was made anew", kv.Key)
			}
		}
		if len(all.Kvs) != many || moved != want {
			t.Errorf("%d of %d have moved, want %d", moved, len(all.Kvs), want)
		}
	}
}

// A release that arrives late finds no key of its owner, and so touches nobody else's: neither that of the next holder
// nor one that the owner has kept.
func TestLateReleaseTouchesNobodyElse(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := newRequest("name")
	old := holdOf(r)
	old.Token = mustTake(t, a, r).Token
	must(t, b.Release(t.Context(), driver.Release{Hold: old})) // another connection was faster
	next := newRequest("name")
	mustTake(t, b, next)
	if err := a.Release(t.Context(), driver.Release{Hold: old}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("a late Release: %v", err)
	}
	mustRenew(t, b, next)
	kept := driver.Release{Hold: holdOf(next), Keep: time.Minute}
	must(t, b.Release(t.Context(), kept))
	for _, e := range []*etcd.Engine{a, b} {
		if err := e.Release(t.Context(), driver.Release{Hold: holdOf(next)}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Release of what was left: %v", err)
		}
	}
	if _, err := a.Take(t.Context(), newRequest("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what is kept: %v", err)
	}
}

// A transaction that is guarded by a lock writes nothing once somebody else has the lock.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := newRequest("name")
	l := fakeLease{name: r.Name, token: mustTake(t, a, r).Token}
	mine, err := a.Guard(l)
	must(t, err)
	write := func() bool {
		w, err := client.Txn(t.Context()).If(mine).Then(clientv3.OpPut("report", rand.Text())).Commit()
		must(t, err)
		return w.Succeeded
	}
	if !write() {
		t.Error("the holder may not write")
	}
	must(t, b.ForceRelease(t.Context(), r.Key, l.token))
	mustTake(t, b, newRequest("name"))
	if write() {
		t.Error("a holder that has lost the lock may write")
	}
	for _, c := range []struct {
		e *etcd.Engine
		l fakeLease
	}{
		{b, l},
		{a, fakeLease{"other", l.token, nil}},
		{a, fakeLease{r.Name, l.token + 1, nil}},
		{a, fakeLease{r.Name, 0, nil}},
	} {
		_, err := c.e.Guard(c.l)
		if !errors.Is(err, etcd.ErrLeaseLost) || !strings.Contains(err.Error(), "give Guard a lease") {
			t.Errorf("Guard of a lease of nobody: %v", err)
		}
	}
	l.err = errors.New("its time has passed")
	if _, err := a.Guard(l); !errors.Is(err, etcd.ErrLeaseLost) || !errors.Is(err, l.err) {
		t.Errorf("Guard of a lease that has ended, and whose key is still known: %v", err)
	}
}

// fakeLease is what Guard needs to know about a lease.
type fakeLease struct {
	name  string
	token uint64
	err   error // why it has ended
}

func (l fakeLease) Name() string  { return l.name }
func (l fakeLease) Token() uint64 { return l.token }
func (l fakeLease) Err() error    { return l.err }

// With a full database, held locks can be renewed and released, and a Take says what to do.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	full := fastConfig
	full.Args = append(full.Args, "--quota-backend-bytes=2000000")
	s := etcdserver.ForTest(t, full)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	r := newRequest("name")
	mustTake(t, e, r)
	eventually(t, "the database is full", func() bool {
		_, err := client.Put(t.Context(), rand.Text(), strings.Repeat("x", 200_000))
		return err != nil
	})
	_, err := e.Take(t.Context(), newRequest("other"))
	if err == nil || driver.IsNo(err) || driver.IsPermanent(err) || !strings.Contains(err.Error(), "alarm disarm") {
		t.Errorf("Take: %v", err)
	}
	mustRenew(t, e, r)
	etcd.RetireSessions(e) // though nothing can move
	for range 2 {
		must(t, renewOnce(t.Context(), e, r))
	}
	must(t, e.Release(t.Context(), driver.Release{Hold: holdOf(r)}))
}

// A Wait ends at once with its context, whatever it is doing, and leaves an entry that one Release removes.
func TestWaitEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, fastConfig)
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	mustTake(t, a, newRequest("name"))
	r := newRequest("name")
	r.Join = true
	if _, err := b.Take(t.Context(), r); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.Wait(ctx, r)
	deadline, _ := ctx.Deadline()
	if late := time.Since(deadline); !errors.Is(err, context.DeadlineExceeded) || late > time.Second {
		t.Errorf("Wait ended %v late: %v", late, err)
	}
	if !driver.HadNoEffect(err) {
		t.Errorf("Wait had no request in flight, and does not say so: %v", err)
	}
	if err := b.Release(t.Context(), driver.Release{Hold: holdOf(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release of a waiter: %v", err)
	}
	awaitQueue(t, a, "name", 0)
}
