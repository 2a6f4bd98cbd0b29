package redisson

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// versions are those of Redisson that the tests run with.
var versions = []string{javaside.Newest, javaside.Oldest}

// sidesEach is how many threads of Java and how many clients in Go contend for an object.
const sidesEach = 4

// held is what one client in Go holds.
type held struct {
	mode   register.Mode
	weight int
	token  uint64
	end    func() error
}

// take takes an object, or reports that it was refused.
type take func(ctx context.Context, random *rand.Rand) (*held, error)

// takes are how Go takes the objects of hammered.
var takes = map[string]func(c *objects.Client, name string) take{
	"lock": func(c *objects.Client, name string) take { return takeLock(c.Lock(name)) },
	"spin": func(c *objects.Client, name string) take { return takeLock(c.SpinLock(name)) },
	"fair": func(c *objects.Client, name string) take { return takeLock(c.FairLock(name)) },
	"fenced": func(c *objects.Client, name string) take {
		return takeLock(c.FencedLock(name))
	},
	"readwrite": takeReadWrite,
	"semaphore": takeSemaphore,
	"permits":   takePermits,
}

// waits returns how to wait: not at all, for a while, or without a limit.
func waits(random *rand.Rand) (limit time.Duration, forever bool) {
	switch random.IntN(3) {
	case 0:
		return 0, false
	case 1:
		return time.Millisecond + rand.N(100*time.Millisecond), false
	}
	return 0, true
}

// takeLock takes a lock once or twice.
func takeLock(l *objects.Lock) take {
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		ok, err := true, error(nil)
		if limit, forever := waits(random); forever {
			err = l.Lock(ctx)
		} else {
			ok, err = l.TryLock(ctx, objects.WaitTime(limit))
		}
		if err != nil || !ok {
			return nil, err
		}
		h := &held{mode: register.Exclusive, token: l.Token(), end: l.Unlock}
		if random.IntN(5) == 0 {
			if err := l.Lock(ctx); err != nil {
				return nil, err
			}
			h.end = func() error {
				if err := l.Unlock(); err != nil {
					return err
				}
				return l.Unlock()
			}
		}
		return h, nil
	}
}

func takeReadWrite(c *objects.Client, name string) take {
	l := c.ReadWriteLock(name)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		h := &held{mode: register.Shared, end: l.RUnlock}
		lock, try := l.RLock, l.TryRLock
		if random.IntN(3) == 0 {
			h.mode, h.end, lock, try = register.Exclusive, l.Unlock, l.Lock, l.TryLock
		}
		if limit, forever := waits(random); !forever {
			ok, err := try(ctx, objects.WaitTime(limit))
			if err != nil || !ok {
				return nil, err
			}
			return h, nil
		}
		return h, lock(ctx)
	}
}

func takeSemaphore(c *objects.Client, name string) take {
	s := c.Semaphore(name)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		n := 1 + random.IntN(2)
		h := &held{mode: register.Permit, weight: n, end: func() error { return s.Release(context.Background(), n) }}
		if _, forever := waits(random); forever {
			return h, s.Acquire(ctx, n)
		}
		ok, err := s.TryAcquire(ctx, n)
		if err != nil || !ok {
			return nil, err
		}
		return h, nil
	}
}

func takePermits(c *objects.Client, name string) take {
	s := c.PermitExpirableSemaphore(name, capacity)
	return func(ctx context.Context, random *rand.Rand) (*held, error) {
		lease, err := s.Acquire(ctx, 1)
		if err != nil {
			return nil, err
		}
		return &held{mode: register.Permit, weight: 1, end: lease.Release}, nil
	}
}

// Four threads of Java and four clients in Go take and hold each object at random, and no two holds overlap that must
// not.
func TestBothLanguagesExcludeEachOther(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{})
			java := javaside.Start(t, version)
			config := javaside.Single(s.URL())
			config.Watchdog = watchdog
			java.MustOpen("java", config)
			for kind, start := range takes {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					hammerBoth(t, s, java, kind, start)
				})
			}
		})
	}
}

func hammerBoth(
	t *testing.T, s *redisserver.Server, java *javaside.Program, kind string,
	start func(c *objects.Client, name string) take,
) {
	r := register.New()
	r.SetCapacity(kind, capacity)
	if kind == "semaphore" || kind == "permits" {
		java.MustCall("java", kind+".trySetPermits", kind, capacity)
	}
	h := hammered[kind]
	h.Threads, h.For, h.Seed = sidesEach, hammerTime, time.Now().UnixNano()%1000
	h.Hold, h.Pause, h.Wait = 5*time.Millisecond, 5*time.Millisecond, 100*time.Millisecond
	h.Register = r.Listen(t).Addr()
	var work sync.WaitGroup
	work.Go(func() {
		did, err := java.Hammer(t.Context(), "java", kind, h)
		t.Logf("Java: %d holds, %d refused", did.Holds, did.Refused)
		for _, f := range did.Failures {
			t.Errorf("Java: %s", f)
		}
		if err != nil || did.Holds == 0 {
			t.Errorf("Java has held %d times: %v", did.Holds, err)
		}
	})
	end := time.Now().Add(hammerTime)
	for i := range sidesEach {
		c := newClient(t, s)
		work.Go(func() {
			who := fmt.Sprintf("go%d", i)
			random := rand.New(rand.NewPCG(uint64(h.Seed), uint64(i)))
			holds, refused, err := hammerInGo(t.Context(), r, kind, who, start(c, kind), random, end)
			t.Logf("%s: %d holds, %d refused", who, holds, refused)
			if err != nil {
				t.Errorf("%s: %v", who, err)
			}
		})
	}
	work.Wait()
	for _, o := range r.Overlaps() {
		t.Error(o)
	}
}

// hammerInGo takes and holds an object at random until a time, and until it has held it.
func hammerInGo(
	ctx context.Context, r *register.Register, name, who string, take take, random *rand.Rand, end time.Time,
) (holds, refused int, _ error) {
	pause := func() { time.Sleep(time.Duration(random.Int64N(int64(5 * time.Millisecond)))) }
	for holds == 0 || time.Now().Before(end) {
		h, err := take(ctx, random)
		switch {
		case errors.Is(err, leasehold.ErrUnavailable): // its wait was over before the server had answered
			refused++
			continue
		case err != nil:
			return holds, refused, err
		case h == nil:
			refused++
			pause()
			continue
		}
		holds++
		err = r.Enter(register.Hold{Name: name, Who: who, Mode: h.mode, Weight: h.weight, Token: int64(h.token)})
		if err != nil {
			return holds, refused, err
		}
		pause()
		if err := r.Leave(name, who); err != nil {
			return holds, refused, err
		}
		if err := h.end(); err != nil {
			return holds, refused, err
		}
		pause()
	}
	return holds, refused, nil
}

// newClient returns a client for a test, which closes it.
func newClient(t *testing.T, s *redisserver.Server) *objects.Client {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	c, err := objects.New(rdb, objects.WithWatchdogTimeout(watchdog))
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
