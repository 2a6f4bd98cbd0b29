//go:build unix

package objects_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// redServers are the servers of a red lock.
type redServers []*redisserver.Server

func newRedServers(t *testing.T) (all redServers) {
	for range 3 {
		all = append(all, redisserver.ForTest(t, redisserver.Config{}))
	}
	return all
}

// redLock returns a red lock, as another process would have.
func (all redServers) redLock(t *testing.T, opts ...objects.Option) *objects.MultiLock {
	var locks []*objects.Lock
	for _, s := range all {
		locks = append(locks, newClient(t, s, opts...).Lock("orders"))
	}
	return multi(t, objects.NewRedLock, locks...)
}

// A server that hangs delays nobody, also with leases that are shorter than any request may take.
func TestRedLockBesideAServerThatHangs(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{time.Second, 0} {
		servers := newRedServers(t)
		a, b := servers.redLock(t), servers.redLock(t)
		must(t, a.Lock(t.Context())) // all connections are there
		must(t, a.Unlock())
		must(t, servers[1].Pause())
		began := time.Now()
		const rounds = 5
		for range rounds {
			must(t, a.Lock(t.Context(), objects.LeaseTime(lease)))
			if left := a.Context().Err(); left != nil {
				t.Errorf("the context of a lock that is held: %v", left)
			}
			if ok, err := b.TryLock(t.Context(), objects.LeaseTime(lease)); ok || err != nil {
				t.Errorf("TryLock of a lock that is held: %v, %v", ok, err)
			}
			must(t, a.Unlock())
		}
		took := time.Since(began) / rounds
		t.Logf("lease %v: %v for a lock, a refusal and an unlock", lease, took)
		if took > 500*time.Millisecond {
			t.Errorf("lease %v: a round took %v", lease, took)
		}
		must(t, servers[1].Resume())
	}
}

// If too few servers answer, it is not known whether somebody holds the lock. The caller's context has not ended.
func TestRedLockWithoutAnswersIsUnavailable(t *testing.T) {
	t.Parallel()
	servers := newRedServers(t)
	m := servers.redLock(t)
	must(t, errors.Join(m.Lock(t.Context()), m.Unlock())) // all connections are there
	for _, s := range servers[:2] {
		must(t, s.Pause())
	}
	for range 2 { // the servers are known to be silent at the second time
		ok, err := m.TryLock(t.Context())
		if ok || !errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("TryLock: %v, %v; want ErrUnavailable", ok, err)
		}
	}
	for _, s := range servers[:2] {
		must(t, s.Resume())
	}
}

// Two that contend for the servers that answer both come through.
func TestRedLocksContendBesideAServerThatHangs(t *testing.T) {
	t.Parallel()
	servers := newRedServers(t)
	a, b := servers.redLock(t), servers.redLock(t)
	must(t, errors.Join(a.Lock(t.Context()), a.Unlock()))
	must(t, servers[2].Pause())
	var work sync.WaitGroup
	began := time.Now()
	for _, m := range []*objects.MultiLock{a, b} {
		work.Go(func() {
			for range 10 {
				if err := m.Lock(t.Context(), objects.LeaseTime(2*time.Second)); err != nil {
					t.Error(err)
					return
				}
				if err := m.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	t.Logf("20 holds took %v", time.Since(began))
	must(t, servers[2].Resume())
}

// A server that answers after the majority joins the lock. Without it, the lock would be lost with one of the others.
func TestRedLockIsJoinedLater(t *testing.T) {
	t.Parallel()
	servers := newRedServers(t)
	a := servers.redLock(t)
	must(t, errors.Join(a.Lock(t.Context()), a.Unlock()))
	must(t, servers[0].Pause())
	must(t, a.Lock(t.Context()))
	must(t, servers[0].Resume())
	locked := func() bool {
		n, err := servers[0].Command("EXISTS", "orders")
		must(t, err)
		return n == int64(1)
	}
	for !locked() {
		must(t, t.Context().Err())
	}
	must(t, a.Unlock())
	for locked() { // the third unlock is in the background
		must(t, t.Context().Err())
	}
}

// If a majority hangs, the call says so when its attempts have failed for some time, and TryLock at once.
func TestRedLockWithoutAMajorityOfServers(t *testing.T) {
	t.Parallel()
	servers := newRedServers(t)
	a := servers.redLock(t)
	must(t, errors.Join(a.Lock(t.Context()), a.Unlock()))
	must(t, errors.Join(servers[0].Pause(), servers[1].Pause()))
	began := time.Now()
	if ok, err := a.TryLock(t.Context()); ok || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("TryLock: %v, %v", ok, err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("TryLock took %v", took)
	}
	ok, err := a.TryLock(t.Context(), objects.WaitTime(500*time.Millisecond))
	if ok || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("TryLock with a WaitTime: %v, %v", ok, err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // an attempt may have been under way
		n, err := servers[2].Command("EXISTS", "orders")
		must(t, err)
		if n == int64(0) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server that answers has the lock")
		}
	}
	must(t, errors.Join(servers[0].Resume(), servers[1].Resume()))
	must(t, errors.Join(a.Lock(t.Context()), a.Unlock()))
}

// A call ends with its context, whatever the client of go-redis is set to.
func TestCallsEndWithTheirContextWithoutSettings(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	c, err := objects.New(rdb)
	must(t, err)
	lock := c.Lock("orders")
	must(t, errors.Join(lock.Lock(t.Context()), lock.Unlock()))
	must(t, s.Pause())
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, lockedErr := lock.IsLocked(ctx)
	_, drainErr := c.Semaphore("permits").DrainPermits(ctx)
	for _, err := range []error{lock.Lock(ctx), lockedErr, drainErr, c.CountDownLatch("x").Await(ctx)} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the calls took %v", took)
	}
	must(t, s.Resume())
	must(t, errors.Join(c.Close(), rdb.Close()))
}
