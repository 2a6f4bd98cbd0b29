//go:build !race || quietzk

// The client of ZooKeeper reads a number without its lock when it connects again. Where connections break again and again, the race detector sees that
// now and then, and blames all tests that run. It does no harm to the engine. So make race compiles the client without the detector, and says so with a tag.

package zookeeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// Servers are killed and freeze while a lock is held and waited for, and at last all of them are killed together. The holder's lease lives on, in the
// same session, and then the waiter has its grant. Tokens go on.
func TestServersFail(t *testing.T) {
	t.Parallel()
	e := zookeeperserver.EnsembleForTest(t, 3, briskly)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	leader := func(*zookeeper.Engine) *zookeeperserver.Server {
		s, err := e.AwaitLeader()
		check(err)
		return s
	}
	own := func(holder *zookeeper.Engine) *zookeeperserver.Server { return serverOf(t, holder, e.Servers) }
	kill := func(s *zookeeperserver.Server) error { s.Kill(); return nil }
	// No lease ends, however long an election takes on a busy machine.
	a, b := engineOn(t, unending, e.Addrs()...), engineOn(t, unending, e.Addrs()...)
	r := wish(a, "name")
	asked := time.Now()
	l := keep(t, a, r, take(t, a, r), asked)
	for _, fault := range []struct {
		what       string
		which      func(holder *zookeeper.Engine) *zookeeperserver.Server
		harm, mend func(*zookeeperserver.Server) error
		soon       bool // it is mended at once
	}{
		{what: "the leader is killed", which: leader, harm: kill, mend: (*zookeeperserver.Server).Restart},
		{what: "the leader freezes", which: leader, harm: (*zookeeperserver.Server).Pause, mend: (*zookeeperserver.Server).Resume},
		{what: "the holder's own server freezes", which: own, harm: (*zookeeperserver.Server).Pause, mend: (*zookeeperserver.Server).Resume},
		{what: "all are killed", which: leader, harm: func(*zookeeperserver.Server) error { e.Kill(); return nil },
			mend: func(*zookeeperserver.Server) error { return e.Restart() }, soon: true},
	} {
		next := queue(t, b, wish(b, "name"))
		session, which := zookeeper.SessionOf(a), fault.which(a)
		check(fault.harm(which))
		harmed := time.Now()
		err := within(t, 200*time.Millisecond, func(ctx context.Context) error { // it may work, or not, but does not take long
			_, err := a.Take(ctx, wish(a, "another"))
			return err
		})
		if driver.IsNo(err) || driver.IsPermanent(err) {
			t.Errorf("%s: Take: %v", fault.what, err)
		}
		if fault.soon {
			check(fault.mend(which))
		}
		if err := outcome(t, a, r); err != nil {
			t.Fatalf("%s: renewing what is held: %v", fault.what, err)
		}
		t.Logf("%s: the holder could renew after %v", fault.what, time.Since(harmed))
		if s := zookeeper.SessionOf(a); s != session {
			t.Errorf("%s: the session is %#x, and was %#x", fault.what, s, session)
		}
		l.good(t)
		next.waits(t)
		released := time.Now()
		l.release(t)
		g := next.granted(t)
		if next.at.Before(released) || g.Token <= l.token {
			t.Errorf("%s: token %d was granted %v after the release of %d", fault.what, g.Token, next.at.Sub(released), l.token)
		}
		if !fault.soon {
			check(fault.mend(which))
		}
		l = keep(t, b, next.request, g, g.Start.Time())
		a, b, r = b, a, next.request
	}
	l.release(t)
	after := wish(b, "name")
	if g := take(t, b, after); g.Token <= l.token {
		t.Errorf("token %d follows %d", g.Token, l.token)
	}
	release(t, b, after)
	last, err := e.AwaitLeader()
	check(err)
	leaderIsAlone(t, e, last)
}

// leaderIsAlone: a leader that does not know yet that nobody follows it any more, as one that was frozen while the others have elected another,
// renews nothing, and grants nothing.
func leaderIsAlone(t *testing.T, e *zookeeperserver.Ensemble, leader *zookeeperserver.Server) {
	a := engineOn(t, unending, leader.Addr())
	r, permits := wish(a, "alone"), wish(a, "alone")
	permits.Kind = driver.Semaphore
	take(t, a, r)
	take(t, a, permits)
	followers, err := e.Followers()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range followers {
		if err := s.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	for what, do := range map[string]func(ctx context.Context) error{
		"Renew":      func(ctx context.Context) error { return renew(ctx, a, r) },
		"Take again": func(ctx context.Context) error { _, err := a.Take(ctx, permits); return err },
	} {
		if err := within(t, 200*time.Millisecond, do); err == nil || driver.IsNo(err) {
			t.Errorf("without a majority, %s: %v", what, err)
		}
	}
	for _, s := range followers {
		if err := s.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if err := outcome(t, a, r); err != nil {
		t.Errorf("with a majority again, Renew: %v", err)
	}
	release(t, a, r)
	release(t, a, permits)
}
