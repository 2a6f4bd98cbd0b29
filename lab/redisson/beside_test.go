package redisson

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// newEngine returns an engine for a test, which closes it.
func newEngine(t *testing.T, s *redisserver.Server, opts ...redisson.Option) *redisson.Engine {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	e, err := redisson.NewEngine(rdb, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), rdb.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// goHammer is one goroutine that takes and holds a name at random for a while, as the threads of a Java hammer do.
type goHammer struct {
	who, name      string
	lock           *leasehold.Mutex
	reads          *leasehold.RWMutex // nil if the lock has no readers
	register       *register.Register
	holds, refused *atomic.Int64
}

func (h goHammer) run(t *testing.T, end time.Time) {
	pause := func() { time.Sleep(rand.N(5 * time.Millisecond)) }
	for time.Now().Before(end) {
		ctx, cancel := context.WithCancel(t.Context())
		lock, try, mode := h.lock.Lock, h.lock.TryLock, register.Exclusive
		if h.reads != nil && rand.N(3) > 0 {
			lock, try, mode = h.reads.RLock, h.reads.TryRLock, register.Shared
		}
		switch rand.N(3) {
		case 0:
			lock = try
		case 1:
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), rand.N(100*time.Millisecond))
		}
		lease, err := lock(ctx)
		cancel()
		switch {
		case errors.Is(err, leasehold.ErrHeld), errors.Is(err, context.DeadlineExceeded):
			h.refused.Add(1)
		case err != nil:
			t.Errorf("%s: %v", h.who, err)
			return
		default:
			enter := register.Hold{Name: h.name, Who: h.who, Mode: mode, Weight: 1}
			if err := h.register.Enter(enter); err != nil {
				t.Error(err)
			}
			pause()
			if mode == register.Exclusive && h.reads != nil && rand.N(4) == 0 {
				err := errors.Join(h.register.Leave(h.name, h.who), lease.Downgrade(t.Context()))
				enter.Mode = register.Shared
				if err = errors.Join(err, h.register.Enter(enter)); err != nil {
					t.Errorf("%s: downgrade: %v", h.who, err)
				}
				pause()
			}
			if err := errors.Join(h.register.Leave(h.name, h.who), lease.Release()); err != nil {
				t.Errorf("%s: %v", h.who, err)
			}
			h.holds.Add(1)
		}
		pause()
	}
}

// Programs in Go and Java that take the same locks at random exclude each other, both get the lock, and nothing is left
// behind.
func TestHammerOfBothSides(t *testing.T) {
	t.Parallel()
	for kind, lock := range map[string]redisson.LockType{"fair": redisson.Fair, "readwrite": redisson.ReadWrite} {
		for _, version := range versions {
			t.Run(kind+"/"+version, func(t *testing.T) {
				t.Parallel()
				s := redisserver.ForTest(t, redisserver.Config{})
				java := javaside.Start(t, version)
				c := javaside.Single(s.URL())
				c.Watchdog = watchdog
				java.MustOpen("java", c)
				h := hammered[kind]
				r := register.New()
				h.Threads, h.For, h.Seed = 4, hammerTime, time.Now().UnixNano()%1000
				h.Hold, h.Pause, h.Wait = 5*time.Millisecond, 5*time.Millisecond, 100*time.Millisecond
				h.Register = r.Listen(t).Addr()
				end := time.Now().Add(hammerTime)
				var work sync.WaitGroup
				work.Go(func() {
					did, err := java.Hammer(t.Context(), "java", kind, h)
					t.Logf("Java: %d holds, %d refused", did.Holds, did.Refused)
					for _, f := range did.Failures {
						t.Errorf("Java: %s", f)
					}
					if err != nil || did.Holds == 0 {
						t.Errorf("Java has held nothing: %v", err)
					}
				})
				var holds, refused atomic.Int64
				for i := range 4 {
					engine := newEngine(t, s, redisson.WithLock(lock), redisson.WithWatchdogTimeout(watchdog))
					hammer := goHammer{who: fmt.Sprint("go", i), name: kind, register: r, holds: &holds, refused: &refused}
					client := leasehold.New(engine)
					hammer.lock = client.Mutex(kind, leasehold.TTL(watchdog))
					if lock == redisson.ReadWrite {
						hammer.reads = client.RWMutex(kind, leasehold.TTL(watchdog))
					}
					work.Go(func() { hammer.run(t, end) })
				}
				work.Wait()
				t.Logf("Go: %d holds, %d refused", holds.Load(), refused.Load())
				if holds.Load() == 0 {
					t.Error("Go has held nothing")
				}
				for _, o := range r.Overlaps() {
					t.Error(o)
				}
				checkNothingIsLeft(t, s)
			})
		}
	}
}

// checkNothingIsLeft checks that no key is left but the counters of tokens, and Redisson's memory of the last unlocks.
func checkNothingIsLeft(t *testing.T, s *redisserver.Server) {
	t.Helper()
	var left []any
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) {
		answer, err := s.Command("EVAL", `return redis.call('keys', '*')`, "0")
		if err != nil {
			t.Fatal(err)
		}
		left = nil
		for _, key := range answer.([]any) {
			text := fmt.Sprint(key)
			if !strings.HasPrefix(text, "redisson_lock_token:") && !strings.HasPrefix(text, "redisson_unlock_latch:") {
				left = append(left, text)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %v", left)
}
