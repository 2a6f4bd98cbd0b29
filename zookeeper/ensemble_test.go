package zookeeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/internal/zookeeperserver"
)

// TestHolderIsCutOff tests holderIsCutOff. The suite of all engines on an ensemble is in ensemble_long_test.go.
func TestHolderIsCutOff(t *testing.T) {
	t.Parallel()
	config := zookeeperserver.Config{MaxSession: endlessTimeout, Unsynced: true}
	holderIsCutOff(t, zookeeperserver.EnsembleForTest(t, 3, config))
}

// holderIsCutOff checks that a holder that is cut off counts its lease as over before anybody else can have the lock. A
// busy machine needs a longer session.
func holderIsCutOff(t *testing.T, e *zookeeperserver.Ensemble) {
	timeout := 12 * time.Second
	for !cutOff(t, e, timeout) {
		if timeout *= 2; timeout > endlessTimeout {
			t.Fatal("no lease is kept")
		}
		t.Logf("the lease was not renewed in time: once more with a session of %v", timeout)
	}
}

// cutOff reports false if the lease was over before its holder was cut off.
func cutOff(t *testing.T, e *zookeeperserver.Ensemble, timeout time.Duration) bool {
	followers, err := e.Followers()
	if err != nil {
		t.Fatal(err)
	}
	// A follower reports the sessions of its clients only at intervals.
	p := redisserver.ProxyForTest(t, followers[0].Addr())
	a := engineOn(t, timeout, p.Addr())
	b := engineOn(t, timeout, e.Addrs()...)
	name := "cut off after " + timeout.String()
	r := newRequest(a, name)
	if r.TTL < timeout/3 || r.TTL > timeout*3/4 {
		t.Fatalf("of a session of %v leases have up to %v", timeout, r.TTL)
	}
	asked := time.Now()
	l := keepRenewed(t, a, r, take(t, a, r), asked)
	next := queue(t, b, newRequest(b, name))
	for end := asked.Add(timeout); time.Now().Before(end); time.Sleep(timeout / 20) { // renewed
		if !l.isGood() {
			next.end()
			return false
		}
	}
	p.Freeze()
	g := next.granted(t)
	if left := l.until().Sub(next.at); left > 0 {
		t.Errorf("another one was granted what the holder counts on for another %v", left)
	}
	if g.Token <= l.token {
		t.Errorf("token %d follows %d", g.Token, l.token)
	}
	p.Thaw()
	if err := renewUntilKnown(t, a, r); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("renewing what was lost: %v, want ErrNotHeld", err)
	}
	release(t, b, next.request)
	return true
}
