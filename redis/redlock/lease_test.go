package redlock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
	"github.com/leasehold-go/leasehold/redis/redlock"
)

func mustCommand(t *testing.T, s *redisserver.Server, args ...string) any {
	t.Helper()
	answer, err := s.Command(args...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// await waits until a condition holds.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

// awaitKeys waits until all servers have granted a name, or until all have released it.
func awaitKeys(t *testing.T, servers []*redisserver.Server, name string, held bool) {
	t.Helper()
	for _, s := range servers {
		await(t, "all servers say the same of "+name,
			func() bool { return (mustCommand(t, s, "EXISTS", "lock:"+name) == int64(1)) == held })
	}
}

func renewOnce(t *testing.T, e *redlock.Engine, r driver.Request) (answer error) {
	t.Helper()
	answer = errors.New("not reported")
	e.Renew(t.Context(), []driver.Renewal{{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}, TTL: r.TTL}},
		func(_ int, err error) { answer = err })
	return answer
}

func TestRenewalNeedsAMajority(t *testing.T) {
	t.Parallel()
	s := servers(t, 5)
	e := open(t, addresses(s), patient)
	r := request("name")
	if _, err := e.Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	awaitKeys(t, s, "name", true)
	for i, server := range s[:3] {
		mustCommand(t, server, "DEL", "lock:name")
		err := renewOnce(t, e, r)
		if lost := i == 2; lost != errors.Is(err, driver.ErrNotHeld) || !lost && err != nil {
			t.Errorf("renewal with %d of 5 servers: %v", 4-i, err)
		}
		if n := mustCommand(t, server, "EXISTS", "lock:name"); n != int64(0) {
			t.Error("a renewal has brought a key back")
		}
	}
}

func TestReleaseTouchesNobodyElsesKey(t *testing.T) {
	t.Parallel()
	s := servers(t, 3)
	e := open(t, addresses(s), patient)
	r := request("name")
	if _, err := e.Take(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	awaitKeys(t, s, "name", true)
	mustCommand(t, s[1], "SET", "lock:name", "somebody else")
	if err := e.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}); err != nil {
		t.Errorf("a majority has released: %v", err)
	}
	for i, n := range []int64{0, 1, 0} {
		await(t, "what is ours is released", func() bool { return mustCommand(t, s[i], "EXISTS", "lock:name") == n })
	}
	if err := e.Release(t.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}); !errors.Is(err,
		driver.ErrNotHeld) {
		t.Errorf("the second release: %v", err)
	}
	if v := mustCommand(t, s[1], "GET", "lock:name"); v != "somebody else" {
		t.Errorf("the key of another holds %q", v)
	}
}

// A take that fails releases what it was granted. So does one of which too little would be left.
func TestFailedTakeLeavesNothing(t *testing.T) {
	t.Parallel()
	s := servers(t, 5)
	for _, server := range s[:3] {
		mustCommand(t, server, "SET", "lock:held", "somebody else")
	}
	e := open(t, addresses(s), patient)
	if _, err := e.Take(t.Context(), request("held")); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("a take of what another holds on a majority: %v", err)
	}
	awaitKeys(t, s[3:], "held", false)

	short := open(t, addresses(s), patient, redlock.WithMinValidity(time.Minute))
	_, err := short.Take(t.Context(), request("short"))
	if err == nil || errors.Is(err, driver.ErrHeld) || !strings.Contains(err.Error(), "left of the lease") {
		t.Errorf("a lease of 20 s, of which a minute must be left: %v", err)
	}
	awaitKeys(t, s, "short", false)
	var bad *redlock.OptionError
	_, err = redlock.New(t.Context(), clients(t, addresses(s)), redlock.WithMinValidity(-1))
	if !errors.As(err, &bad) {
		t.Errorf("a negative validity: %v", err)
	}
}

// waitReasons observes why calls wait.
type waitReasons struct{ last atomic.Pointer[error] }

func (r *waitReasons) ObserveWait(w leasehold.Waiting) { r.last.Store(&w.Reason) }

// Servers that were just started do not vote. A waiter learns that, and until when, and gets the lock then.
func TestWaiterIsToldOfServersThatDoNotVoteYet(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	s := servers(t, 3)
	e := openGuarded(t, addresses(s), patient, redlock.WithNodes(redis.WithMaxTTL(ttl)))
	var reasons waitReasons
	c := leasehold.New(e, leasehold.WithObserver(&reasons))
	t.Cleanup(func() { c.Close() })
	m := c.Mutex("name", leasehold.TTL(ttl))
	if _, err := m.TryLock(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("a try while nobody votes: %v", err)
	}
	lease, err := m.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	reason := reasons.last.Load()
	if reason == nil {
		t.Fatal("no wait was observed")
	}
	closed := 0
	for _, v := range votesOf(t, *reason) {
		if v.Answer == redlock.Closed && !v.Until.IsZero() && time.Until(v.Until) <= ttl {
			closed++
		}
	}
	if closed < 2 {
		t.Errorf("the reason names %d servers and when they vote: %v", closed, *reason)
	}
}

func TestWhatAMajorityCannotDo(t *testing.T) {
	t.Parallel()
	c := leasehold.New(open(t, addresses(servers(t, 1))))
	t.Cleanup(func() { c.Close() })
	if _, err := c.RWMutex("name").RLock(t.Context()); !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("a read lock: %v", err)
	}
	if _, err := c.Semaphore("name", 2).Acquire(t.Context(), 1); !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("a permit: %v", err)
	}
	if _, err := c.Latch("name").TrySet(t.Context(), 1); !errors.Is(err, leasehold.ErrUnsupported) {
		t.Errorf("a latch: %v", err)
	}
}
