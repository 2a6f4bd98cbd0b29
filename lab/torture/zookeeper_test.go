package torture

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// fastTicks configures ZooKeeper servers that notice within half a second that another one is gone.
var fastTicks = zookeeperserver.Config{Tick: 50 * time.Millisecond}

// openZooKeeper returns a client of the library with the given session timeout.
func openZooKeeper(t *testing.T, timeout time.Duration, servers ...string) client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e, err := zookeeper.New(ctx, servers, zookeeper.WithSessionTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(e, answer)
	t.Cleanup(func() {
		_ = c.Close() // errors about leases do not matter here
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return c
}

// Without a majority of the servers a lease ends at its deadline, and not later, and nobody gets
// the lock. With a majority again, waiters get theirs.
func TestZooKeeperWithoutMajority(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second // leases of 4 s
	e := zookeeperserver.EnsembleForTest(t, 3, fastTicks)
	a, b := openZooKeeper(t, timeout, e.Addrs()...), openZooKeeper(t, timeout, e.Addrs()...)
	l := lock(t, a.Mutex("a"))
	held := l.Context()
	next := waiter(t, b, "a")
	leader, err := e.AwaitLeader()
	if err != nil {
		t.Fatal(err)
	}
	followers, err := e.Followers()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*zookeeperserver.Server{leader, followers[0]} {
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	<-held.Done()
	if late := time.Since(l.Deadline()); late > soon || !errors.Is(context.Cause(held), leasehold.ErrLost) {
		t.Errorf("the context ended %v after the deadline: %v", late, context.Cause(held))
	}
	select {
	case l := <-next:
		t.Fatalf("without a majority somebody has the lock: %+v", l)
	default:
	}
	for _, s := range []*zookeeperserver.Server{leader, followers[0]} {
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	unlockNext(t, <-next, l)
	unlock(t, lock(t, a.Mutex("a")))
}

// A lease whose session has expired is lost at the next renewal at the latest, and others get the
// lock. Waiters of the same session still get what they wait for.
func TestZooKeeperSessionExpires(t *testing.T) {
	t.Parallel()
	s := zookeeperserver.ForTest(t, fastTicks)
	c := openZooKeeper(t, 10*time.Second, s.Addr())
	sessions, err := s.Sessions()
	if err != nil || len(sessions) != 1 {
		t.Fatalf("the sessions are %+v, %v", sessions, err)
	}
	other := openZooKeeper(t, 10*time.Second, s.Addr())
	l, first := lock(t, c.Mutex("a")), lock(t, other.Mutex("b"))
	held := l.Context()
	next := waiter(t, c, "b")
	if err := s.EndSession(sessions[0].ID); err != nil {
		t.Fatal(err)
	}
	theirs := lock(t, other.Mutex("a"))
	<-held.Done()
	if left := time.Until(l.Deadline()); left < 0 || !errors.Is(context.Cause(held), leasehold.ErrLost) {
		t.Errorf("the context ended %v after the deadline: %v", -left, context.Cause(held))
	}
	if err := l.Release(); !errors.Is(err, leasehold.ErrLost) {
		t.Errorf("Release: %v, want ErrLost", err)
	}
	unlock(t, theirs)
	unlock(t, first)
	unlockNext(t, <-next, first)
	unlock(t, lock(t, c.Mutex("a")))
}
