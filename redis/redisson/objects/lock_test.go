package objects_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client for a test, as another process would have, which the test closes.
func newClient(t *testing.T, s *redisserver.Server, opts ...objects.Option) *objects.Client {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	c, err := objects.New(rdb, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), rdb.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// must stops the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustTry(t *testing.T, l *objects.Lock, want bool, opts ...objects.LockOption) {
	t.Helper()
	got, err := l.TryLock(t.Context(), opts...)
	must(t, err)
	if got != want {
		t.Fatalf("TryLock: %v, want %v", got, want)
	}
}

// A holder may lock again, and the lock is free when it has unlocked as often.
func TestLockAgain(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s).Lock("orders"), newClient(t, s).Lock("orders")
	must(t, a.Lock(t.Context()))
	mustTry(t, a, true)
	mustTry(t, b, false)
	if a.HoldCount() != 2 || b.HoldCount() != 0 {
		t.Errorf("hold counts %d and %d, want 2 and 0", a.HoldCount(), b.HoldCount())
	}
	must(t, a.Unlock())
	mustTry(t, b, false)
	if err := a.Context().Err(); err != nil {
		t.Errorf("the context of a lock that is held: %v", err)
	}
	must(t, a.Unlock())
	if err := a.Unlock(); !errors.Is(err, objects.ErrNotHeld) {
		t.Errorf("Unlock of a free lock: %v", err)
	}
	if cause := context.Cause(a.Context()); !errors.Is(cause, objects.ErrNotHeld) {
		t.Errorf("the context of a lock that is not held: %v", cause)
	}
	mustTry(t, b, true)
	must(t, b.Unlock())
}

// A waiter is told of the unlock by a message, long before the lease would end.
func TestUnlockWakesAWaiter(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s).Lock("orders"), newClient(t, s).Lock("orders")
	must(t, a.Lock(t.Context()))
	locked := make(chan error, 1)
	go func() { locked <- b.Lock(t.Context()) }()
	awaitSubscriber(t, s, "redisson_lock__channel:{orders}")
	must(t, a.Unlock())
	select {
	case err := <-locked:
		must(t, err)
	case <-time.After(9 * time.Second): // it would poll after ten
		t.Fatal("the waiter was not told")
	}
	must(t, b.Unlock())
}

// awaitSubscriber returns when somebody has subscribed to a channel.
func awaitSubscriber(t *testing.T, s *redisserver.Server, channel string) {
	t.Helper()
	for {
		answer, err := s.Command("PUBSUB", "NUMSUB", channel)
		must(t, err)
		if list, _ := answer.([]any); len(list) == 2 && list[1] != int64(0) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
	}
}

// A lock with a lease is free at its end, and its holder is told.
func TestLeaseTime(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s).Lock("orders"), newClient(t, s).Lock("orders")
	must(t, a.Lock(t.Context(), objects.LeaseTime(300*time.Millisecond)))
	ctx := a.Context()
	mustTry(t, b, true, objects.WaitTime(20*time.Second))
	<-ctx.Done()
	if err := a.Unlock(); !errors.Is(err, objects.ErrNotHeld) {
		t.Errorf("Unlock of a lock that was lost: %v", err)
	}
	if left, err := b.RemainingTime(t.Context()); err != nil || left <= 20*time.Second || left > 30*time.Second {
		t.Errorf("%v of the lease are left, %v; want nearly 30s", left, err)
	}
	must(t, b.Unlock())
}

// WaitTime ends with false, not with an error.
func TestWaitTimeEnds(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s).Lock("orders"), newClient(t, s).Lock("orders")
	must(t, a.Lock(t.Context()))
	mustTry(t, b, false, objects.WaitTime(300*time.Millisecond))
	mustTry(t, b, false, objects.WaitTime(-1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := b.TryLock(ctx, objects.WaitTime(time.Minute)); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("TryLock with an ended context: %v, %v", ok, err)
	}
	must(t, a.Unlock())
}

// The watchdog keeps a lock for several times its lease.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	const timeout = time.Second
	a := newClient(t, s, objects.WithWatchdogTimeout(timeout)).Lock("orders")
	b := newClient(t, s).Lock("orders")
	must(t, a.Lock(t.Context()))
	mustTry(t, b, false, objects.WaitTime(3*timeout))
	must(t, a.Unlock())
}

// ForceUnlock frees a lock of somebody else, who notices at the next renewal.
func TestForceUnlock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a := newClient(t, s, objects.WithWatchdogTimeout(time.Second))
	b := newClient(t, s)
	for _, pair := range [][2]*objects.Lock{
		{a.Lock("plain"), b.Lock("plain")},
		{a.FencedLock("fenced"), b.FencedLock("fenced")},
	} {
		held, other := pair[0], pair[1]
		must(t, held.Lock(t.Context()))
		ctx := held.Context()
		if ok, err := other.ForceUnlock(t.Context()); !ok || err != nil {
			t.Fatalf("ForceUnlock: %v, %v", ok, err)
		}
		<-ctx.Done()
		if ok, err := other.ForceUnlock(t.Context()); ok || err != nil {
			t.Fatalf("ForceUnlock of a free lock: %v, %v", ok, err)
		}
		if locked, err := other.IsLocked(t.Context()); locked || err != nil {
			t.Fatalf("IsLocked: %v, %v", locked, err)
		}
	}
}

// Tokens grow, and a plain lock on the same name leaves them alone. It excludes the fenced one.
func TestFencedLock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	a, b, plain := c.FencedLock("orders"), newClient(t, s).FencedLock("orders"), c.Lock("orders")
	mustTry(t, a, true)
	mustTry(t, b, false)
	mustTry(t, plain, false)
	first := a.Token()
	must(t, a.Unlock())
	mustTry(t, plain, true)
	mustTry(t, b, false)
	must(t, plain.Unlock())
	mustTry(t, b, true)
	if next := b.Token(); first != 1 || next != 2 || a.Token() != 0 {
		t.Errorf("tokens %d and %d, want 1 and 2; %d of a lock that is not held", first, next, a.Token())
	}
	must(t, b.Unlock())
	if left, err := s.Command("KEYS", "*"); err != nil || len(left.([]any)) != 1 {
		t.Errorf("keys %v are left, want only the counter of tokens; %v", left, err)
	}
}

// Waiters of one process are granted a fair lock in the order in which they asked.
func TestFairLock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	first := c.FairLock("orders")
	must(t, first.Lock(t.Context()))
	const waiters = 5
	order := make(chan int, waiters)
	var work sync.WaitGroup
	for i := range waiters {
		l := c.FairLock("orders")
		work.Go(func() {
			err := l.Lock(t.Context())
			order <- i
			if err = errors.Join(err, l.Unlock()); err != nil {
				t.Error(err)
			}
		})
		for {
			n, err := s.Command("LLEN", "redisson_lock_queue:{orders}")
			must(t, err)
			if n == int64(i+1) {
				break
			}
			must(t, t.Context().Err())
		}
	}
	must(t, first.Unlock())
	work.Wait()
	for want := range waiters {
		if got := <-order; got != want {
			t.Errorf("waiter %d was granted the lock, want %d", got, want)
		}
	}
}

// A holder that locks again and fails does not hold more often.
func TestLockAgainThatFails(t *testing.T) {
	t.Parallel()
	c := newClient(t, redisserver.ForTest(t, redisserver.Config{}))
	l, rw := c.Lock("orders"), c.ReadWriteLock("stock")
	must(t, errors.Join(l.Lock(t.Context()), rw.Lock(t.Context())))
	tooLong := objects.LeaseTime(48 * time.Hour)
	if err := l.Lock(t.Context(), tooLong); err == nil || l.HoldCount() != 1 {
		t.Errorf("%v, held %d times, want an error, and once", err, l.HoldCount())
	}
	err := rw.Lock(t.Context(), tooLong)
	if writes, _ := rw.HoldCounts(); err == nil || writes != 1 {
		t.Errorf("%v, held %d times for writing, want an error, and once", err, writes)
	}
	must(t, errors.Join(l.Unlock(), rw.Unlock()))
}

// Unlock of a lock that was lost does not wait for a call that locks it again.
func TestUnlockOfALostLockReturnsAtOnce(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	lock, other := newClient(t, s).Lock("orders"), newClient(t, s).Lock("orders")
	must(t, lock.Lock(t.Context(), objects.LeaseTime(200*time.Millisecond)))
	<-lock.Context().Done()
	must(t, other.Lock(t.Context()))
	again := make(chan error, 1)
	go func() { again <- lock.Lock(t.Context()) }()
	awaitSubscriber(t, s, "redisson_lock__channel:{orders}")
	unlocked := make(chan error, 2)
	go func() { unlocked <- lock.Unlock(); unlocked <- lock.Unlock() }()
	for _, want := range []error{leasehold.ErrLost, objects.ErrNotHeld} {
		select {
		case err := <-unlocked:
			if !errors.Is(err, objects.ErrNotHeld) || !errors.Is(err, want) {
				t.Errorf("Unlock: %v, want %v", err, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("Unlock waits until the lock is held again")
		}
	}
	must(t, other.Unlock())
	must(t, <-again)
	if n := lock.HoldCount(); n != 1 {
		t.Errorf("it is held %d times, want 1", n)
	}
	must(t, lock.Unlock())
}
