package redis_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// doUnreplicated lets a master do something that its replicas never learn, because it dies before.
func doUnreplicated(t *testing.T, master *redisserver.Server, replicas []*redisserver.Server, do func()) {
	t.Helper()
	for _, r := range replicas {
		if err := r.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	command(t, master, "CLIENT", "KILL", "TYPE", "replica") // or its data would wait for them in the connections
	do()
	master.Kill()
	for _, r := range replicas {
		if err := r.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}

// failoverTest is a set-up whose master has just died with leases that its replicas do not know.
type failoverTest struct {
	client newClient
	tag    string        // begins the names
	ttl    time.Duration // of all leases

	holder, second *redis.Engine // with the guard; second has an AutoPipeliner
	promoted       *redisserver.Server

	known         driver.Request // known to the replicas
	lost, lostToo driver.Request // unknown to them
	ends          time.Time      // no sooner, for the holder, does the last lease end
}

// checkDuring checks what other engines do while the holder believes that it holds.
func (f *failoverTest) checkDuring(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for _, r := range []driver.Request{f.lost, f.lostToo} {
		if hasLock(t, f.promoted, r) {
			t.Fatal("the new master knows the lease: the test shows nothing")
		}
	}

	again := lasting(f.lost.Name, f.ttl)
	if _, err := takeDespiteErrors(ctx, unguarded(t, f.client), again); err != nil {
		t.Fatal(err)
	}
	if !time.Now().Before(f.ends) {
		t.Log("this machine is too slow for the test: the failover took longer than the lease")
		return
	}
	t.Log("without the guard, two hold one lock at the same time")

	again = lasting(f.lostToo.Name, f.ttl)
	eventually(t, "the engine finds the new master", func() bool {
		_, err := f.second.Take(ctx, again)
		closed, ok := errors.AsType[*redis.ClosedError](err)
		if err == nil && time.Now().Before(f.ends) {
			t.Fatal("with the guard, two hold one lock at the same time")
		}
		if ok && (closed.Open.Before(f.ends) || !driver.HadNoEffect(err) || driver.IsPermanent(err)) {
			t.Errorf("%v, while a lease may last until %v", err, f.ends)
		}
		return ok
	})
	eventually(t, "the lease that the new master knows is renewed",
		func() bool { return renewOne(ctx, f.holder, hold(f.known), f.ttl) == nil })
	if !time.Now().Before(f.ends) {
		t.Log("this machine is too slow to show that it is renewed while grants are closed")
	}
	release(t, f.holder, f.known)
}

// checkAfterwards checks that the second engine is granted the lock, and not too early.
func (f *failoverTest) checkAfterwards(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := takeDespiteErrors(ctx, f.second, lasting(f.lostToo.Name, f.ttl)); err != nil {
		t.Fatal(err)
	}
	if early := time.Until(f.ends); early > 0 {
		t.Errorf("the lock was granted a second time %v before the first lease has ended", early)
	}
}

// openEngines opens the engines, and lets the holder take what everybody knows.
func (f *failoverTest) openEngines(t *testing.T) {
	t.Helper()
	f.known, f.lost, f.lostToo = lasting(f.tag+"known", time.Minute), lasting(f.tag+"lost", f.ttl),
		lasting(f.tag+"lost, too", f.ttl)
	f.holder, f.second = open(t, f.client, redis.WithMaxTTL(f.ttl)),
		open(t, pipelined(f.client), redis.WithMaxTTL(f.ttl))
	for _, e := range []*redis.Engine{f.holder, f.second} {
		mustTake(t, e, f.known) // the second time, it is held already
	}
}

// takeLost takes the locks that get lost.
func (f *failoverTest) takeLost(t *testing.T) {
	t.Helper()
	mustTake(t, f.holder, f.lost)
	f.ends = time.Now().Add(f.ttl)
	mustTake(t, f.holder, f.lostToo)
}

func TestGuardOverAPromotionBySentinels(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 2, redisserver.Config{})
	s := redisserver.SentinelsForTest(t, 3, r)
	trust(t, r.Master)
	f := &failoverTest{client: failover(s), ttl: time.Minute}
	f.openEngines(t)
	for _, replica := range r.Replicas {
		if err := replica.AwaitReplicaOf(r.Master); err != nil {
			t.Fatal(err)
		}
	}
	doUnreplicated(t, r.Master, r.Replicas, func() { f.takeLost(t) })
	var err error
	if f.promoted, err = s.AwaitMaster(r.Master); err != nil {
		t.Fatal(err)
	}
	f.checkDuring(t)
}

func TestGuardOverAPromotionInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 1, redisserver.Config{})
	master, replica := c.Nodes[0], c.Nodes[3]
	trust(t, master)
	f := &failoverTest{client: cluster(c), tag: tagOn(0), ttl: time.Minute}
	f.openEngines(t)
	if err := replica.AwaitReplicaOf(master); err != nil {
		t.Fatal(err)
	}
	doUnreplicated(t, master, []*redisserver.Server{replica}, func() { f.takeLost(t) })
	var err error
	if f.promoted, err = c.AwaitOwner(redisserver.Slot(f.tag), master); err != nil {
		t.Fatal(err)
	}
	f.checkDuring(t)
}

// address leads to different servers.
type address struct {
	atomic.Pointer[redisserver.Server]
}

func (a *address) client(t *testing.T) goredis.UniversalClient {
	return closed(t, goredis.NewClient(&goredis.Options{Addr: "floating",
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", a.Load().Addr())
		}}))
}

// A process that becomes the master a second time is not the server that it was, although its run ID is the same. It
// still has the scripts of its first time.
func TestGuardOverAPromotionOfAFormerMaster(t *testing.T) {
	t.Parallel()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	first, second := r.Master, r.Replicas[0]
	trust(t, first)
	var at address
	at.Store(first)
	f := &failoverTest{client: at.client, ttl: 6 * time.Second}
	f.openEngines(t)
	release(t, f.holder, f.known)

	promote(t, second, first)
	at.Store(second)
	command(t, first, "CLIENT", "KILL", "TYPE", "normal")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := takeDespiteErrors(ctx, f.holder, f.known); err != nil { // the second engine notices nothing of this
		t.Fatal(err)
	}
	if took := time.Since(began); took < f.ttl {
		t.Errorf("a server that was promoted grants after %v, want %v", took, f.ttl)
	}
	if err := first.AwaitReplicaOf(second); err != nil {
		t.Fatal(err)
	}

	doUnreplicated(t, second, []*redisserver.Server{first}, func() { f.takeLost(t) })
	command(t, first, "REPLICAOF", "NO", "ONE")
	at.Store(first)
	f.promoted = first
	f.checkDuring(t)
	f.checkAfterwards(t)
}

// Redis forgets that a master was promoted when it has had no replica for a while (repl-backlog-ttl, by default an
// hour). Then it has the replication ID of its first time as a master. An engine that knew it then, and was idle since,
// does not take it for open: the marker says what has happened.
func TestGuardOverANameOfAFormerLife(t *testing.T) {
	t.Parallel()
	const maxTTL = time.Minute
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	first, second := r.Master, r.Replicas[0]
	trust(t, first)
	var at address
	at.Store(first)
	idle := open(t, at.client, redis.WithMaxTTL(maxTTL))
	mustTake(t, idle, lasting("a", maxTTL))

	promote(t, second, first)
	trust(t, second)
	at.Store(second)
	command(t, first, "CLIENT", "KILL", "TYPE", "normal")
	if err := first.AwaitReplicaOf(second); err != nil {
		t.Fatal(err)
	}
	holder, held := open(t, at.client, redis.WithMaxTTL(maxTTL)), lasting("b", maxTTL)
	var ends time.Time
	doUnreplicated(t, second, []*redisserver.Server{first}, func() {
		ends = time.Now().Add(maxTTL)
		mustTake(t, holder, held)
	})
	command(t, first, "CONFIG", "SET", "repl-backlog-ttl", "1")
	command(t, first, "REPLICAOF", "NO", "ONE")
	at.Store(first)
	eventually(t, "the server has forgotten its promotion", func() bool {
		id, err := first.Info("master_replid2")
		return err == nil && strings.Trim(id, "0") == ""
	})
	eventually(t, "the idle engine finds it closed", func() bool {
		_, err := idle.Take(t.Context(), held)
		if err == nil && time.Now().Before(ends) {
			t.Fatal("two hold the lock")
		}
		_, closed := errors.AsType[*redis.ClosedError](err)
		return closed
	})
}

// promote makes a replica the master of its master.
func promote(t *testing.T, replica, master *redisserver.Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(replica.Addr())
	if err != nil {
		t.Fatal(err)
	}
	command(t, replica, "REPLICAOF", "NO", "ONE")
	command(t, master, "REPLICAOF", host, port)
}

func TestGuardOverARestartThatLosesAll(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	trust(t, s)
	f := &failoverTest{client: standalone(s), ttl: 6 * time.Second, promoted: s}
	f.openEngines(t)
	f.takeLost(t)
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	f.known = lasting("granted without the guard", time.Minute) // nothing else is known to be held
	f.holder = unguarded(t, f.client)
	mustTake(t, f.holder, f.known)
	f.checkDuring(t)
	f.checkAfterwards(t)
}
