package torture

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// promotion is a master whose replica is about to be promoted without its knowledge.
type promotion struct {
	old, promoted *redisserver.Server
	link          *redisserver.Proxy // between both
}

// newPromotion starts both servers. With settings, the master stops once its replica has been
// silent for more than a second.
func newPromotion(t *testing.T, settings bool) promotion {
	t.Helper()
	r := redisserver.ReplicatedForTest(t, 1, redisserver.Config{})
	p := promotion{r.Master, r.Replicas[0], redisserver.ProxyForTest(t, r.Master.Addr())}
	grantAtOnce(t, p.old.Addr())
	host, port, err := net.SplitHostPort(p.link.Addr())
	noErr(t, err)
	_, err = p.promoted.Command("REPLICAOF", host, port)
	noErr(t, err)
	if settings {
		_, err = p.old.Command("CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "1")
		noErr(t, err)
	}
	return p
}

// knows waits until the replica knows a lock.
func (p promotion) knows(t *testing.T, name string) {
	t.Helper()
	await(t, "the replica knows the lock", func() bool {
		n, err := p.promoted.Command("EXISTS", redis.DefaultPrefix+name)
		return err == nil && n == int64(1)
	})
}

// promote cuts the link, so that the old master does not notice.
func (p promotion) promote(t *testing.T) {
	t.Helper()
	p.link.Freeze()
	_, err := p.promoted.Command("REPLICAOF", "NO", "ONE")
	noErr(t, err)
}

// openOld opens the old master. In the end that master may write again, so that nothing is left to
// be released.
func (p promotion) openOld(t *testing.T) client {
	t.Helper()
	c := open(t, p.old.Addr(), redis.WithMaxTTL(longestTTL))
	t.Cleanup(func() {
		_, err := p.old.Command("CONFIG", "SET", "min-replicas-to-write", "0")
		noErr(t, err)
	})
	return c
}

// How long leases last in these tests, and how long a promoted master waits before it grants any.
const (
	shortTTL   = 2 * time.Second
	longestTTL = 4 * shortTTL
)

// The old master goes on granting and renewing beside the new one, unless its settings stop it in
// time.
func TestOldMasterGoesOn(t *testing.T) {
	t.Parallel()
	for name, stops := range map[string]bool{"with the settings": true, "without them": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPromotion(t, stops)
			a := p.openOld(t)
			held := lock(t, a.Mutex("name", leasehold.TTL(shortTTL)))
			p.knows(t, "name")
			p.promote(t)
			b := open(t, p.promoted.Addr(), redis.WithMaxTTL(longestTTL))
			next := lock(t, b.Mutex("name", leasehold.TTL(shortTTL)))
			if both := held.Err() == nil; both == stops {
				t.Errorf("the holder at the old master still holds when the new one grants: %v", both)
			}
			other, err := a.Mutex("other", leasehold.TTL(shortTTL)).TryLock(t.Context())
			if granted := err == nil; granted == stops {
				t.Errorf("the old master: %v", err)
			}
			if err == nil {
				unlock(t, other)
			} else if !strings.Contains(err.Error(), "NOREPLICAS") {
				t.Errorf("the old master refuses for another reason: %v", err)
			}
			unlock(t, next)
			_ = held.Release() // it may be lost
		})
	}
}

// A master that was frozen during the promotion may grant for a moment when it goes on, until it
// notices that its replica is silent. Tokens tell the holders apart.
func TestFrozenMasterGoesOn(t *testing.T) {
	t.Parallel()
	p := newPromotion(t, true)
	a := p.openOld(t)
	held := lock(t, a.Mutex("name", leasehold.TTL(shortTTL)))
	p.knows(t, "name")
	noErr(t, p.old.Pause())
	p.promote(t)
	b := open(t, p.promoted.Addr(), redis.WithMaxTTL(longestTTL))
	next := lock(t, b.Mutex("name", leasehold.TTL(shortTTL)))
	if held.Err() == nil {
		t.Error("the lease of the frozen master is still valid")
	}
	noErr(t, p.old.Resume())
	granted := 0
	await(t, "the old master refuses takes for want of its replica", func() bool {
		late, err := a.Mutex("name", leasehold.TTL(shortTTL)).TryLock(t.Context())
		if err == nil {
			granted++
			if late.Token() <= next.Token() {
				t.Errorf("token %d follows %d", late.Token(), next.Token())
			}
			_ = late.Release() // the server may refuse it
			return false
		}
		return errors.Is(err, leasehold.ErrUnavailable) && strings.Contains(err.Error(), "NOREPLICAS")
	})
	t.Logf("it granted %d times", granted) // none on a machine that is so busy that the moment has passed
	unlock(t, next)
	_ = held.Release() // it is lost
}
