package zookeeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// TestHolderIsCutOff: see holderIsCutOff. The suite of all engines on an ensemble is in ensemble_long_test.go.
func TestHolderIsCutOff(t *testing.T) {
	t.Parallel()
	holderIsCutOff(t, zookeeperserver.EnsembleForTest(t, 3, zookeeperserver.Config{MaxSession: unending, Unsynced: true}))
}

// holderIsCutOff: a holder that is cut off counts its lease as over before anybody else can have the lock.
func holderIsCutOff(t *testing.T, e *zookeeperserver.Ensemble) {
	const timeout = 12 * time.Second
	followers, err := e.Followers()
	if err != nil {
		t.Fatal(err)
	}
	// A follower tells the leader of the sessions of its clients now and then only.
	p := redisserver.ProxyForTest(t, followers[0].Addr())
	a := engineOn(t, timeout, p.Addr())
	b := engineOn(t, timeout, e.Addrs()...)
	r := wish(a, "cut off")
	if r.TTL < timeout/3 || r.TTL > timeout*3/4 {
		t.Fatalf("of a session of %v leases have up to %v", timeout, r.TTL)
	}
	asked := time.Now()
	l := keep(t, a, r, take(t, a, r), asked)
	next := queue(t, b, wish(b, "cut off"))
	for end := asked.Add(timeout); time.Now().Before(end); time.Sleep(timeout / 20) { // it is renewed
		l.good(t)
	}
	next.waits(t)
	p.Freeze()
	g := next.granted(t)
	if left := l.until().Sub(next.at); left > 0 {
		t.Errorf("another one was granted what the holder counts on for another %v", left)
	}
	if g.Token <= l.token {
		t.Errorf("token %d follows %d", g.Token, l.token)
	}
	p.Thaw()
	if err := outcome(t, a, r); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("renewing what was lost: %v, want ErrNotHeld", err)
	}
	release(t, b, next.request)
}
