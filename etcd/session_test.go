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

// locks is what the keys of locks begin with.
const locks = etcd.DefaultPrefix + "lock/"

// keyOf reads the key of an owner, or nothing. The lease is its base.
func keyOf(t *testing.T, c *clientv3.Client, r driver.Request) (created, modified int64, lease clientv3.LeaseID) {
	t.Helper()
	all, err := c.Get(t.Context(), locks, clientv3.WithPrefix())
	must(t, err)
	for _, kv := range all.Kvs {
		if strings.Contains(string(kv.Value), " "+etcd.MarkOf(r.Owner)) {
			return kv.CreateRevision, kv.ModRevision, clientv3.LeaseID(kv.Lease)
		}
	}
	return 0, 0, 0
}

// sessionOf returns the session that the key of an owner names, or 0.
func sessionOf(t *testing.T, c *clientv3.Client, r driver.Request) clientv3.LeaseID {
	t.Helper()
	all, err := c.Get(t.Context(), locks, clientv3.WithPrefix())
	must(t, err)
	for _, kv := range all.Kvs {
		if _, named, found := strings.Cut(string(kv.Value), " "+etcd.MarkOf(r.Owner)+"@"); found {
			id, _, _ := strings.Cut(named, ".")
			session, err := strconv.ParseInt(id, 16, 64)
			must(t, err)
			return clientv3.LeaseID(session)
		}
	}
	return 0
}

// All locks of a process with about the same ttl are on one session, and renewing them writes nothing.
func TestManyLocksOneSessionNoWrites(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	batch := make([]driver.Renewal, 130) // more than one read can find out about
	var takers sync.WaitGroup
	for i := range batch {
		takers.Go(func() {
			r := asked(fmt.Sprint(i))
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
	if n := len(leases.Leases); n != 2 { // with the base
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
	time.Sleep(3100 * time.Millisecond) // so that the session has to be kept alive
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
	// A server that has just been started writes once by itself: the version of its cluster.
	if wrong := writes(); wrong != "" {
		if wrong = writes(); wrong != "" {
			t.Error(wrong)
		}
	}
	if now := left(); now < first-1 {
		t.Errorf("the session lasts for another %d s, and for %d s when it began", now, first)
	}
}

// A lock that is not renewed ends, although its session goes on for the sake of another. One whose process is gone ends some time after the session,
// for one who asks for it and does not wait, too.
func TestALockEndsWithoutItsSession(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	e, err := etcd.Open("etcd://" + s.Addr())
	must(t, err)
	dropped, held := asked("dropped"), asked("held")
	dropped.TTL, held.TTL = 2050*time.Millisecond, 2800*time.Millisecond // which is one session
	const grace = 4 * time.Second
	began := time.Now()
	taken(t, e, held)
	taken(t, e, dropped)
	_, _, lease := keyOf(t, client, dropped)
	eventually(t, "the lock that is not renewed ends", func() bool {
		stillHeld(t, e, held)
		created, _, _ := keyOf(t, client, dropped)
		return created == 0
	})
	if took := time.Since(began); took < dropped.TTL {
		t.Errorf("a lease of %v ended after %v", dropped.TTL, took)
	}
	if _, _, on := keyOf(t, client, held); on != lease {
		t.Errorf("the session of the other lock has changed")
	}
	lost(t, e, dropped)
	stillHeld(t, e, held)

	must(t, e.Close()) // it does no more than a process that is gone
	other := engineOn(t, s.Addr())
	crashed := time.Now()
	eventually(t, "the lock of one who is gone is free", func() bool {
		r := asked("held")
		_, err := other.Take(t.Context(), r)
		return err == nil
	})
	if took := time.Since(crashed); took < grace {
		t.Errorf("it was free %v after the last renewal of a lease of %v", took, held.TTL)
	}
}

// A renewal for longer than the session lasts moves the lock to another one. It stays the same lock, at the same place.
func TestALongerRenewalMovesTheLock(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	r := asked("name")
	g := taken(t, e, r)
	created, _, short := keyOf(t, client, r)
	if created != int64(g.Token) {
		t.Errorf("token %d of a key that was created at %d", g.Token, created)
	}
	r.TTL = time.Hour
	stillHeld(t, e, r)
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
	stillHeld(t, e, r) // for no less than before
	if _, same, on := keyOf(t, client, r); same != modified || on != long {
		t.Errorf("a renewal for a shorter time has changed the key")
	}
	st, err := e.List(t.Context(), driver.Query{})
	must(t, err)
	if len(st) != 1 || st[0].Holders[0].TTL < 50*time.Minute {
		t.Errorf("listed %+v", st)
	}
}

// A session to which nobody else comes is left by those who are on it, a few with each renewal, so that many need not write at the same time. Nothing
// is lost: they are renewed all the same, and are the same locks as before.
func TestASessionIsLeftLittleByLittle(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	const many, atOnce = 20, 16
	var batch []driver.Renewal
	for i := range many {
		r := asked(fmt.Sprint(i))
		batch = append(batch, driver.Renewal{Hold: holdOf(r), TTL: r.TTL})
		batch[i].Token = taken(t, e, r).Token
	}
	_, _, before := keyOf(t, client, driver.Request{Owner: batch[0].Owner})
	etcd.Retire(e)
	for _, want := range []int{atOnce, many, many} {
		e.Renew(t.Context(), batch, func(i int, err error) {
			if err != nil {
				t.Errorf("item %d: %v", i, err)
			}
		})
		all, err := client.Get(t.Context(), locks, clientv3.WithPrefix())
		must(t, err)
		moved := 0
		for _, kv := range all.Kvs {
			if kv.Lease != int64(before) {
				moved++
			}
			if !slices.ContainsFunc(batch, func(r driver.Renewal) bool { return r.Token == uint64(kv.CreateRevision) }) {
				t.Errorf("the key %q was made anew", kv.Key)
			}
		}
		if len(all.Kvs) != many || moved != want {
			t.Errorf("%d of %d have moved, want %d", moved, len(all.Kvs), want)
		}
	}
}

// A release that arrives late finds no key of its owner, and so touches nobody's: neither that of the next one nor one of its own attempt that is kept.
func TestALateReleaseTouchesNobody(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := asked("name")
	old := holdOf(r)
	old.Token = taken(t, a, r).Token
	must(t, b.Release(t.Context(), driver.Release{Hold: old})) // another connection was faster
	next := asked("name")
	taken(t, b, next)
	if err := a.Release(t.Context(), driver.Release{Hold: old}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("a late Release: %v", err)
	}
	stillHeld(t, b, next)
	kept := driver.Release{Hold: holdOf(next), Keep: time.Minute}
	must(t, b.Release(t.Context(), kept))
	for _, e := range []*etcd.Engine{a, b} {
		if err := e.Release(t.Context(), driver.Release{Hold: holdOf(next)}); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Release of what was left: %v", err)
		}
	}
	if _, err := a.Take(t.Context(), asked("name")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("Take of what is kept: %v", err)
	}
}

// A transaction that is guarded by a lock writes nothing once the lock is another's.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	client := connect(t, clientv3.Config{}, s.Addr())
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	r := asked("name")
	l := lease{name: r.Name, token: taken(t, a, r).Token}
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
	taken(t, b, asked("name"))
	if write() {
		t.Error("one who has lost the lock may write")
	}
	for _, c := range []struct {
		e *etcd.Engine
		l lease
	}{{b, l}, {a, lease{"other", l.token, nil}}, {a, lease{r.Name, l.token + 1, nil}}, {a, lease{r.Name, 0, nil}}} {
		if _, err := c.e.Guard(c.l); !errors.Is(err, etcd.ErrLeaseLost) || !strings.Contains(err.Error(), "give Guard a lease") {
			t.Errorf("Guard of a lease of nobody: %v", err)
		}
	}
	l.over = errors.New("its time has passed")
	if _, err := a.Guard(l); !errors.Is(err, etcd.ErrLeaseLost) || !errors.Is(err, l.over) {
		t.Errorf("Guard of a lease that is over, and whose key is still known: %v", err)
	}
}

// lease is what Guard wants to know of one.
type lease struct {
	name  string
	token uint64
	over  error // why
}

func (l lease) Name() string  { return l.name }
func (l lease) Token() uint64 { return l.token }
func (l lease) Err() error    { return l.over }

// When the database is full, what is held can be renewed and released, and a Take says what to do.
func TestAFullDatabase(t *testing.T) {
	t.Parallel()
	full := quick
	full.Args = append(full.Args, "--quota-backend-bytes=2000000")
	s := etcdserver.ForTest(t, full)
	client := connect(t, clientv3.Config{}, s.Addr())
	e := engineOn(t, s.Addr())
	r := asked("name")
	taken(t, e, r)
	eventually(t, "the database is full", func() bool {
		_, err := client.Put(t.Context(), rand.Text(), strings.Repeat("x", 200_000))
		return err != nil
	})
	_, err := e.Take(t.Context(), asked("other"))
	if err == nil || driver.IsNo(err) || driver.IsPermanent(err) || !strings.Contains(err.Error(), "alarm disarm") {
		t.Errorf("Take: %v", err)
	}
	stillHeld(t, e, r)
	etcd.Retire(e) // which nothing can be moved from
	for range 2 {
		must(t, renew(t.Context(), e, r))
	}
	must(t, e.Release(t.Context(), driver.Release{Hold: holdOf(r)}))
}

// A Wait ends with its context, at once, whatever it is at, and leaves a place that one Release removes.
func TestWaitEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := etcdserver.ForTest(t, quick)
	a, b := engineOn(t, s.Addr()), engineOn(t, s.Addr())
	taken(t, a, asked("name"))
	r := asked("name")
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
		t.Errorf("Wait had nothing under way, and does not say so: %v", err)
	}
	if err := b.Release(t.Context(), driver.Release{Hold: holdOf(r)}); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("Release of a place: %v", err)
	}
	queued(t, a, "name", 0)
}
