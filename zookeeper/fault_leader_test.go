package zookeeper_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
	"github.com/leasehold-go/leasehold/zookeeper"
)

// Servers are killed and freeze while a lock is held and waited for, and at last all of them are killed together. The holder's lease lives on, in the same session, and then the waiter has
// its grant. Tokens go on.
func TestServersFail(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Second // of which an election takes the smaller part, on a busy machine
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
	a, b := engineOn(t, timeout, e.Addrs()...), engineOn(t, timeout, e.Addrs()...)
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
}
