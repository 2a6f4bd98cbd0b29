package objects_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

func multi(
	t *testing.T, make func(...*objects.Lock) (*objects.MultiLock, error), locks ...*objects.Lock,
) *objects.MultiLock {
	t.Helper()
	m, err := make(locks...)
	must(t, err)
	return m
}

// A lock of several locks is held if all are, and holds none if one is refused.
func TestMultiLock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s), newClient(t, s)
	both := multi(t, objects.NewMultiLock, a.Lock("x"), a.Lock("y"))
	y := b.Lock("y")
	must(t, y.Lock(t.Context()))
	if ok, err := both.TryLock(t.Context()); ok || err != nil {
		t.Fatalf("TryLock while one is held: %v, %v", ok, err)
	}
	x := b.Lock("x")
	mustTry(t, x, true) // it was given back
	must(t, x.Unlock())
	if ok, err := both.TryLock(t.Context(), objects.WaitTime(200*time.Millisecond)); ok || err != nil {
		t.Fatalf("TryLock that waits: %v, %v", ok, err)
	}
	must(t, y.Unlock())
	must(t, both.Lock(t.Context()))
	must(t, both.Lock(t.Context()))
	mustTry(t, b.Lock("x"), false)
	must(t, both.Unlock())
	mustTry(t, b.Lock("y"), false)
	must(t, both.Unlock())
	if err := both.Unlock(); !errors.Is(err, objects.ErrNotHeld) {
		t.Errorf("Unlock of what is not held: %v", err)
	}
	mustTry(t, x, true)
	mustTry(t, y, true)
	must(t, errors.Join(x.Unlock(), y.Unlock()))
}

// A lock of several that was waited for is held after the wait's limit, and after its context has ended.
func TestMultiLockOutlivesItsTake(t *testing.T) {
	t.Parallel()
	c := newClient(t, redisserver.ForTest(t, redisserver.Config{}))
	type maker = func(...*objects.Lock) (*objects.MultiLock, error)
	for _, make := range []maker{objects.NewMultiLock, objects.NewRedLock} {
		m := multi(t, make, c.Lock("x"), c.Lock("y"))
		ctx, cancel := context.WithCancel(t.Context())
		if ok, err := m.TryLock(ctx, objects.WaitTime(time.Minute)); !ok || err != nil {
			t.Fatalf("TryLock that waits: %v, %v", ok, err)
		}
		cancel()
		select {
		case <-m.Context().Done():
			t.Errorf("held %d times: %v", m.HoldCount(), context.Cause(m.Context()))
		case <-time.After(50 * time.Millisecond): // it would end at once
		}
		must(t, m.Unlock())
	}
	for range 500 { // the limit passes at any time: what is held then stays so
		m := multi(t, objects.NewRedLock, c.Lock("x"), c.Lock("y"))
		ok, err := m.TryLock(t.Context(), objects.WaitTime(100*time.Microsecond+rand.N(900*time.Microsecond)))
		if err != nil && !errors.Is(err, leasehold.ErrUnavailable) {
			t.Fatal(err)
		}
		if ok {
			time.Sleep(time.Millisecond) // it would end at once
			must(t, m.Unlock())
		}
	}
	x := c.Lock("x")
	must(t, x.Lock(t.Context()))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := multi(t, objects.NewMultiLock, c.Lock("x")).Lock(short)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("Lock until a deadline: %v", err)
	}
}

// An unlock tells that the lock was lost, even if nobody has noticed before.
func TestMultiLockThatWasTakenAway(t *testing.T) {
	t.Parallel()
	c := newClient(t, redisserver.ForTest(t, redisserver.Config{}))
	for i, lost := range map[int]bool{0: false, 1: false, 2: true} {
		all := multi(t, objects.NewMultiLock, c.Lock("x"), c.Lock("y"), c.Lock("z"))
		most := multi(t, objects.NewRedLock, c.Lock("a"), c.Lock("b"), c.Lock("c"))
		must(t, errors.Join(all.Lock(t.Context()), most.Lock(t.Context())))
		for _, name := range []string{"x", "y"}[:i] {
			mustForce(t, c.Lock(name))
		}
		for _, name := range []string{"a", "b", "c"} {
			awaitLocked(t, c.Lock(name)) // a majority is held before the last one
		}
		for _, name := range []string{"a", "b"}[:i] {
			mustForce(t, c.Lock(name))
		}
		if err := all.Unlock(); errors.Is(err, objects.ErrNotHeld) != (i > 0) {
			t.Errorf("Unlock after %d of 3 locks were taken away: %v", i, err)
		}
		if err := most.Unlock(); errors.Is(err, objects.ErrNotHeld) != lost {
			t.Errorf("Unlock of a majority after %d of 3 locks were taken away: %v", i, err)
		}
	}
}

func awaitLocked(t *testing.T, l *objects.Lock) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		locked, err := l.IsLocked(t.Context())
		must(t, err)
		if locked {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody has locked %q", l.Name())
		}
	}
}

func mustForce(t *testing.T, l *objects.Lock) {
	t.Helper()
	if ok, err := l.ForceUnlock(t.Context()); !ok || err != nil {
		t.Fatalf("ForceUnlock: %v, %v", ok, err)
	}
}

// Waiters that name the same locks in different orders do not block each other.
func TestMultiLocksInDifferentOrders(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	var work sync.WaitGroup
	for i := range 4 {
		c := newClient(t, s)
		work.Go(func() {
			for range 20 {
				locks := []*objects.Lock{c.Lock("x"), c.Lock("y"), c.Lock("z")}
				locks[0], locks[i%3] = locks[i%3], locks[0]
				m := multi(t, objects.NewMultiLock, locks...)
				if err := errors.Join(m.Lock(t.Context()), m.Unlock()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
}

// A majority is enough, and the lock is lost with it.
func TestRedLock(t *testing.T) {
	t.Parallel()
	var ours, others []*objects.Lock
	for range 3 {
		s := redisserver.ForTest(t, redisserver.Config{})
		ours = append(ours, newClient(t, s, objects.WithWatchdogTimeout(time.Second)).Lock("orders"))
		others = append(others, newClient(t, s).Lock("orders"))
	}
	a, b := multi(t, objects.NewRedLock, ours...), multi(t, objects.NewRedLock, others...)
	must(t, others[0].Lock(t.Context()))
	must(t, a.Lock(t.Context()))
	if ok, err := b.TryLock(t.Context()); ok || err != nil {
		t.Fatalf("TryLock without a majority: %v, %v", ok, err)
	}
	ctx := a.Context()
	if ctx.Err() != nil || a.HoldCount() != 1 {
		t.Fatalf("%v, held %d times", ctx.Err(), a.HoldCount())
	}
	mustForce(t, others[1]) // as if its server had lost its data
	<-ctx.Done()
	if err := a.Unlock(); !errors.Is(err, objects.ErrNotHeld) {
		t.Errorf("Unlock of a lock that was lost: %v", err)
	}
	must(t, b.Lock(t.Context()))
	must(t, b.Unlock())
	must(t, others[0].Unlock())
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Lock(done); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with an ended context: %v", err)
	}
}

func TestMultiLockOfNothing(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	l := c.Lock("orders")
	for _, locks := range [][]*objects.Lock{
		{}, {nil}, {l, l}, {l, c.Lock("orders")}, {l, c.FencedLock("orders")},
		{l, c.ReadWriteLock("orders").ReadLock()},
	} {
		if _, err := objects.NewMultiLock(locks...); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("%d locks: %v", len(locks), err)
		}
	}
}
