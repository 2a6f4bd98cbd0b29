package torture

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/etcd"
	"github.com/leasehold-go/leasehold/internal/etcdserver"
)

// fastElection configures members that elect another leader within a second, and do not sync to
// disk.
var fastElection = etcdserver.Config{Volatile: true, Election: 500 * time.Millisecond}

// openEtcd returns a client of the library on some members.
func openEtcd(t *testing.T, addresses ...string) client {
	t.Helper()
	c, _ := openEtcdEngine(t, answer, addresses...)
	return c
}

// openEtcdEngine is openEtcd with a request timeout, and also returns the engine.
func openEtcdEngine(t *testing.T, limit time.Duration, addresses ...string) (client, *etcd.Engine) {
	t.Helper()
	e, err := etcd.Open("etcd://" + strings.Join(addresses, ","))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(e, limit)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Logf("closing the client: %v", err) // faults may have left errors behind
		}
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return c, e
}

// leaderOf waits for the leader of a cluster.
func leaderOf(t *testing.T, c *etcdserver.Cluster) *etcdserver.Server {
	t.Helper()
	leader, err := c.Leader()
	if err != nil {
		t.Fatal(err)
	}
	return leader
}

// A lease survives the crash or freeze of the leader, and waiters keep waiting.
func TestEtcdLeaderIsLost(t *testing.T) {
	t.Parallel()
	for how, name := range []string{"frozen", "killed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = 15 * time.Second // renewed every 5 s
			c := etcdserver.ClusterForTest(t, 3, fastElection)
			a, b := openEtcd(t, c.Addrs()...).Mutex("a", leasehold.TTL(ttl)), openEtcd(t, c.Addrs()...)
			l := lock(t, a)
			next := waiter(t, b, "a", leasehold.TTL(ttl))
			fix := disturb(t, leaderOf(t, c), how)
			awaitRenewal(t, l, ttl, next)
			releaseOrLost(t, l) // the former leader may not answer in time
			second := <-next
			if second == nil || second.Token() <= l.Token() {
				t.Fatalf("%+v follows token %d", second, l.Token())
			}
			releaseOrLost(t, second)
			fix() // a former leader may end sessions when it comes back, so nothing is held then
			releaseOrLost(t, lock(t, a))
		})
	}
}

// Without a majority of the members a lease ends at its deadline, and not later, and nobody gets
// the lock. With a majority again, waiters get theirs.
func TestEtcdWithoutMajority(t *testing.T) {
	t.Parallel()
	c := etcdserver.ClusterForTest(t, 3, fastElection)
	a, b := openEtcd(t, c.Addrs()...), openEtcd(t, c.Addrs()...)
	l := lock(t, a.Mutex("a", leasehold.TTL(3*time.Second)))
	held := l.Context()
	leader := leaderOf(t, c)
	var fix []func()
	for i, s := range []*etcdserver.Server{leader, c.Others(leader)[0]} {
		fix = append(fix, disturb(t, s, i))
	}
	if _, err := b.Mutex("a").TryLock(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("TryLock: %v, want ErrUnavailable", err)
	}
	next := make(chan *leasehold.Lease, 1)
	go func() {
		l, err := lockInTime(t, b.Mutex("a"))
		if err != nil {
			t.Errorf("the waiter: %v", err)
		}
		next <- l
	}()
	<-held.Done()
	if late := time.Since(l.Deadline()); late > soon || !errors.Is(context.Cause(held), leasehold.ErrLost) {
		t.Errorf("the context ended %v after the deadline: %v", late, context.Cause(held))
	}
	for _, undo := range fix {
		undo()
	}
	unlockNext(t, <-next, l)
}
