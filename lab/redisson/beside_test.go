package redisson

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// newEngine returns an engine for a test, which closes it.
func newEngine(t *testing.T, s *redisserver.Server, opts ...redisson.Option) *redisson.Engine {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true})
	e, err := redisson.New(rdb, opts...)
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
	for kind, lock := range map[string]redisson.LockType{"fair": redisson.Fair, "readwrite": redisson.ReadWrite} {
		for _, version := range beside {
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
					engine := newEngine(t, s, redisson.WithLock(lock), redisson.WithJavaWatchdogTimeout(watchdog))
					hammer := goHammer{who: fmt.Sprint("go", i), name: kind, register: r}
					hammer.holds, hammer.refused = &holds, &refused
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

// checkNothingIsLeft checks that no key is left but the counters of tokens, and what both sides remember for some
// seconds: Redisson its last unlocks, and leasehold to which waiters in Java it has given more time.
func checkNothingIsLeft(t *testing.T, s *redisserver.Server) {
	t.Helper()
	var left []any
	// What is left of dead waiters expires within 10 s.
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
		answer, err := s.Command("EVAL", `return redis.call('keys', '*')`, "0")
		if err != nil {
			t.Fatal(err)
		}
		left = nil
		for _, key := range answer.([]any) {
			text := fmt.Sprint(key)
			remembered := strings.Contains(text, "unlock_latch:") || strings.Contains(text, "waiters:{fair}:")
			if !remembered && !strings.HasPrefix(text, "redisson_lock_token:") {
				left = append(left, text)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %v", left)
}

// fairSides are a program in each language that share the fair lock "orders".
type fairSides struct {
	*testing.T
	server *redisserver.Server
	java   *javaside.Program
	engine *redisson.Engine
}

func newFairSides(t *testing.T, version string) *fairSides {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{})
	java := javaside.Start(t, version)
	java.MustOpen("java", javaside.Single(s.URL()))
	return &fairSides{t, s, java, newEngine(t, s, redisson.WithLock(redisson.Fair))}
}

func (s *fairSides) request(owner string) driver.Request {
	return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: "orders"}, Owner: owner, Size: 1, Weight: 1,
		TTL: 30 * time.Second, Tokens: 1}
}

func (s *fairSides) release(r driver.Request) {
	s.Helper()
	if err := s.engine.Release(s.Context(), driver.Release{Hold: driver.Hold{Key: r.Key, Owner: r.Owner}}); err != nil {
		s.Errorf("release by %s: %v", r.Owner, err)
	}
}

// joinInGo joins the queue. It returns when the place is taken.
func (s *fairSides) joinInGo(owner string) driver.Request {
	s.Helper()
	r := s.request(owner)
	r.Join = true
	if _, err := s.engine.Take(s.Context(), r); !errors.Is(err, driver.ErrHeld) {
		s.Fatalf("take by %s: %v", owner, err)
	}
	return r
}

// joinInJava joins the queue from a thread of its own, which waits. It returns when the place is taken.
func (s *fairSides) joinInJava(thread string) *javaside.Pending {
	s.Helper()
	before := s.waiting()
	p := s.java.Go(javaside.Call{Client: "java", Thread: thread, Op: "fair.lock", Name: "orders"})
	for s.waiting() == before && s.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return p
}

func (s *fairSides) waiting() int64 {
	s.Helper()
	n, err := s.server.Command("LLEN", "redisson_lock_queue:{orders}")
	if err != nil {
		s.Fatal(err)
	}
	return n.(int64)
}

// Waiters in both languages are served in the order of the queue.
func TestFairOrderOfBothSides(t *testing.T) {
	t.Parallel()
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newFairSides(t, version)
			holder := s.request("holder")
			if _, err := s.engine.Take(t.Context(), holder); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var served, joined []string
			serve := func(who string) {
				mu.Lock()
				defer mu.Unlock()
				served = append(served, who)
			}
			var work sync.WaitGroup
			for i := range 12 {
				who := fmt.Sprint("waiter", i)
				joined = append(joined, who)
				if i%3 == 1 {
					pending := s.joinInJava(who)
					work.Go(func() {
						if _, err := pending.Wait(t.Context()); err != nil {
							t.Errorf("lock by %s: %v", who, err)
						}
						serve(who)
						unlock := javaside.Call{Client: "java", Thread: who, Op: "fair.unlock", Name: "orders"}
						if _, err := s.java.Call(t.Context(), unlock); err != nil {
							t.Errorf("unlock by %s: %v", who, err)
						}
					})
					continue
				}
				r := s.joinInGo(who)
				work.Go(func() {
					if _, err := s.engine.Wait(t.Context(), r); err != nil {
						t.Errorf("wait by %s: %v", who, err)
					}
					serve(who)
					s.release(r)
				})
			}
			began := time.Now()
			s.release(holder)
			work.Wait()
			t.Logf("%d waiters were served in %v", len(served), time.Since(began).Round(time.Millisecond))
			if !slices.Equal(served, joined) {
				t.Errorf("served %q, want %q", served, joined)
			}
		})
	}
}

// A waiter in Java gets the lock soon after one in Go that was before it has gone without a word.
func TestFairJavaBehindADeadWaiterInGo(t *testing.T) {
	t.Parallel()
	s := newFairSides(t, javaside.Newest)
	holder := s.request("holder")
	if _, err := s.engine.Take(t.Context(), holder); err != nil {
		t.Fatal(err)
	}
	s.joinInGo("dead")
	pending := s.joinInJava("waiter")
	s.release(holder)
	began := time.Now()
	if _, err := pending.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("the waiter had the lock after %v", took.Round(time.Millisecond))
	if took > 8*time.Second {
		t.Error("that is too long")
	}
}
