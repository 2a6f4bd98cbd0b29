package redisson

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
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
