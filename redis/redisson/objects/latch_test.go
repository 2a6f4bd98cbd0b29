package objects_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// A latch wakes those that wait at zero, or when it is deleted, and one that is not set counts as one at zero.
func TestCountDownLatch(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	a, b := newClient(t, s).CountDownLatch("started"), newClient(t, s).CountDownLatch("started")
	count := func(want int) {
		t.Helper()
		if n, err := b.Count(t.Context()); n != want || err != nil {
			t.Errorf("Count: %d, %v, want %d", n, err, want)
		}
	}
	set := func(want bool) {
		t.Helper()
		ok, err := a.TrySetCount(t.Context(), 2)
		wantTry(t, want, ok, err)
	}
	down := func(want int) {
		t.Helper()
		if n, err := a.CountDown(t.Context()); n != want || err != nil {
			t.Errorf("CountDown: %d, %v, want %d", n, err, want)
		}
	}
	must(t, b.Await(t.Context()))
	count(0)
	down(0)
	set(true)
	set(false)
	awaits := func() chan error {
		ended := make(chan error, 1)
		go func() { ended <- b.Await(t.Context()) }()
		awaitSubscriber(t, s, "redisson_countdownlatch__channel__{started}")
		return ended
	}
	ended := awaits()
	down(1)
	count(1)
	down(0)
	must(t, <-ended)
	down(0)
	set(true)
	ended = awaits()
	deleted, err := a.Delete(t.Context())
	wantTry(t, true, deleted, err)
	must(t, <-ended)
	deleted, err = b.Delete(t.Context())
	wantTry(t, false, deleted, err)
	count(0)
	set(true)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Await(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Await with an ended context: %v", err)
	}
}

// What cannot be used is refused as in the library, by every object.
func TestInvalidValues(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s, objects.WithPrefix("app:"))
	const name = "{a}"
	plain := newClient(t, s)
	_, tryErr := plain.Lock(name).TryLock(t.Context())
	_, lockedErr := plain.ReadWriteLock(name).ReadLock().IsLocked(t.Context())
	_, forceErr := plain.FairLock(name).ForceUnlock(t.Context())
	_, acquireErr := plain.PermitExpirableSemaphore(name, 1).Acquire(t.Context(), 1)
	_, deleteErr := plain.CountDownLatch(name).Delete(t.Context())
	_, negativeErr := c.CountDownLatch("x").TrySetCount(t.Context(), -1)
	for call, err := range map[string]error{
		"TryLock": tryErr, "IsLocked": lockedErr, "ForceUnlock": forceErr, "Acquire of a lease": acquireErr,
		"Acquire": plain.Semaphore(name).Acquire(t.Context(), 1), "Delete": deleteErr, "TrySetCount": negativeErr,
		"Acquire of none": c.Semaphore("x").Acquire(t.Context(), 0),
	} {
		if !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("%s: %v", call, err)
		}
	}
	_, longErr := c.Lock("x").TryLock(t.Context(), objects.LeaseTime(25*time.Hour))
	again := c.Lock("a")
	must(t, again.Lock(t.Context(), objects.LeaseTime(time.Minute)))
	for call, err := range map[string]error{
		"TryLock": longErr, "Lock": again.Lock(t.Context(), objects.LeaseTime(-1)),
	} {
		if e, ok := errors.AsType[*leasehold.ValueError](err); !ok || e.Field != "LeaseTime" {
			t.Errorf("%s with a lease time that is not allowed: %v", call, err)
		}
	}
	if n, err := s.Command("KEYS", "*"); len(n.([]any)) != 1 || n.([]any)[0] != "app:a" || err != nil {
		t.Errorf("keys %v, %v, want app:a", n, err)
	}
}

// A name that the library refuses is refused by each call, and is not taken for all names.
func TestNamesThatAreNoNames(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	must(t, c.Lock("held").Lock(t.Context()))
	for _, name := range []string{"", "a\x00", "\xff", strings.Repeat("a", 1025)} {
		l, sem, latch := c.Lock(name), c.Semaphore(name), c.CountDownLatch(name)
		for call, err := range map[string]error{
			"Lock": l.Lock(t.Context()), "IsLocked": only(l.IsLocked(t.Context())),
			"RemainingTime": only(l.RemainingTime(t.Context())), "ForceUnlock": only(l.ForceUnlock(t.Context())),
			"TryAcquire": only(sem.TryAcquire(t.Context(), 1)), "Acquire": sem.Acquire(t.Context(), 1),
			"Release": sem.Release(t.Context(), 1), "AddPermits": sem.AddPermits(t.Context(), 1),
			"TrySetPermits":    only(sem.TrySetPermits(t.Context(), 1)),
			"TrySetPermitsFor": only(sem.TrySetPermitsFor(t.Context(), 1, time.Minute)),
			"AvailablePermits": only(sem.AvailablePermits(t.Context())),
			"Count":            only(latch.Count(t.Context())), "Delete": only(latch.Delete(t.Context())),
		} {
			if _, ok := errors.AsType[*leasehold.ValueError](err); !ok || !errors.Is(err, leasehold.ErrInvalid) {
				t.Errorf("%s of %.9q: %v", call, name, err)
			}
		}
	}
	if n, err := s.Command("DBSIZE"); n != int64(1) || err != nil {
		t.Errorf("%v keys, %v, want that of the lock", n, err)
	}
}

// After Close, and when the server is gone, calls fail with errors of the library.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	permits := c.Semaphore("permits")
	waits := make(chan error, 1)
	go func() { waits <- permits.Acquire(t.Context(), 1) }()
	awaitSubscriber(t, s, "redisson_sc:{permits}")
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := permits.Acquire(short, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire with an ended context: %v", err)
	}
	must(t, c.Close())
	if err := <-waits; !errors.Is(err, leasehold.ErrClosed) {
		t.Errorf("Acquire while the client is closed: %v", err)
	}
	_, err := c.CountDownLatch("x").Delete(t.Context())
	_, held := c.Lock("x").IsLocked(t.Context())
	for _, err := range []error{err, held, permits.Release(t.Context(), 1), c.Lock("x").Lock(t.Context())} {
		if !errors.Is(err, leasehold.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	c = newClient(t, s)
	must(t, s.Stop())
	if _, err := c.Lock("x").IsLocked(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	limited, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err = c.Semaphore("x").Acquire(limited, 1)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Acquire without a server: %v", err)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]objects.Option{
		"WithEngine":          objects.WithEngine(redisson.WithLock(redisson.Fair)),
		"WithWatchdogTimeout": objects.WithWatchdogTimeout(1),
		"WithPrefix":          objects.WithPrefix("{"),
	} {
		rdb := goredis.NewClient(&goredis.Options{})
		_, err := objects.New(rdb, option)
		if e, ok := errors.AsType[*redisson.OptionError](err); !ok || e.Option != name {
			t.Errorf("%s: %v", name, err)
		}
		must(t, rdb.Close())
	}
}

// A server that accepts connections and says nothing until the deadline is away, too.
func TestAcquireFromASilentServer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	rdb := goredis.NewClient(&goredis.Options{Addr: silent.Addr().String(), ContextTimeoutEnabled: true})
	defer rdb.Close()
	c, err := objects.New(rdb)
	must(t, err)
	defer c.Close()
	limited, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = c.Semaphore("x").Acquire(limited, 1)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Acquire without an answer: %v", err)
	}
}
