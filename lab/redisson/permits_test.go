package redisson

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/lateness"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// shared is a server or a Cluster that a program in each language uses.
type shared struct {
	*testing.T
	java   *javaside.Program
	client string // of Java
	engine *redisson.Engine
	golang *leasehold.Client
	rdb    goredis.UniversalClient
}

// onServers runs tests with each version of Redisson, on one server and on a Cluster. The tests of each share one Java
// process and the servers, so each uses names of its own.
func onServers(t *testing.T, tests map[string]func(s *shared)) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			java := javaside.Start(t, version)
			server := redisserver.ForTest(t, redisserver.Config{})
			java.MustOpen("server", javaside.Single(server.URL()))
			c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
			java.MustOpen("cluster", javaside.Several("cluster", c.Addrs()...))
			for client, rdb := range map[string]goredis.UniversalClient{
				"server":  goredis.NewClient(&goredis.Options{Addr: server.Addr()}),
				"cluster": goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()}),
			} {
				t.Run(client, func(t *testing.T) {
					engine := openEngine(t, rdb)
					for name, test := range tests {
						t.Run(name, func(t *testing.T) {
							golang := leasehold.New(engine)
							defer golang.Close()
							test(&shared{t, java, client, engine, golang, rdb})
						})
					}
				})
			}
		})
	}
}

// openEngine returns an engine for a test, which closes it and its client.
func openEngine(t *testing.T, rdb goredis.UniversalClient) *redisson.Engine {
	t.Helper()
	engine, err := redisson.New(rdb)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(), rdb.Close()); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// inJava makes a call and checks its answer.
func (s *shared) inJava(want any, op, name string, args ...any) {
	s.Helper()
	if got := s.java.MustCall(s.client, op, name, args...); got != want {
		s.Fatalf("%s %v in Java: %v, want %v", op, args, got, want)
	}
}

// waitInJava begins a call in a thread of its own, and gives it time to wait.
func (s *shared) waitInJava(op, name string, args ...any) *javaside.Pending {
	call := s.java.Go(javaside.Call{Client: s.client, Thread: op + name, Op: op, Name: name, Args: args})
	time.Sleep(asleep)
	s.mustWait(call.Done())
	return call
}

// waitInGo begins a call in a goroutine, and gives it time to wait.
func (s *shared) waitInGo(f func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f(s.Context()) }()
	time.Sleep(asleep)
	return done
}

const asleep = 300 * time.Millisecond

func (s *shared) mustWait(done <-chan struct{}) {
	s.Helper()
	select {
	case <-done:
		s.Fatal("it did not wait")
	default:
	}
}

// mustReturn returns what a call has returned that waited until now. Nobody would ask again within that time.
func (s *shared) mustReturn(call *javaside.Pending) any {
	s.Helper()
	if _, came := comes(s.T, call.Done(), woken); !came {
		s.Fatal("Java was not woken")
	}
	v, err := call.Wait(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return v
}

// mustEnd checks that a call that waited until now returns without an error.
func (s *shared) mustEnd(done <-chan error) {
	s.Helper()
	if err, came := comes(s.T, done, woken); err != nil || !came {
		s.Fatalf("Go was woken: %v; %v", came, err)
	}
}

func (s *shared) acquire(name string, size, n int) *leasehold.Lease {
	s.Helper()
	lease, err := s.golang.Semaphore(name, size).TryAcquire(s.Context(), n)
	if err != nil {
		s.Fatalf("TryAcquire of %d permits: %v", n, err)
	}
	return lease
}

func (s *shared) release(lease *leasehold.Lease) {
	s.Helper()
	if err := lease.Release(); err != nil {
		s.Fatal(err)
	}
}

// They are one test, as a Java process takes seconds to start.
func TestPermitsAndLatchesOfBothSides(t *testing.T) {
	t.Parallel()
	onServers(t, map[string]func(*shared){
		"PermitsAreShared":                       permitsAreShared,
		"PermitsAreSetByGo":                      permitsAreSetByGo,
		"PermitsWakeTheOtherSideWhenReleased":    releasedPermitsWakeTheOtherSide,
		"PermitsComeBackToTheOtherSideWhenEnded": expiredPermitsComeBackToTheOtherSide,
		"PermitsAreTakenAway":                    permitsAreTakenAway,
		"LatchesAreShared":                       latchIsShared,
		"LatchesThatAreGone":                     latchThatIsGone,
		"LatchesDeletedInGo":                     latchDeletedInGo,
	})
}

func permitsAreShared(s *shared) {
	s.inJava(true, "permits.trySetPermits", "shared slots", 3)
	id := s.java.MustCall(s.client, "permits.acquire", "shared slots", 60000, javaside.Milliseconds)
	two := s.acquire("shared slots", 3, 2)
	s.inJava(int64(0), "permits.availablePermits", "shared slots")
	s.inJava(int64(3), "permits.acquiredPermits", "shared slots")
	s.inJava(nil, "permits.tryAcquire", "shared slots")
	if _, err := s.golang.Semaphore("shared slots", 3).TryAcquire(s.Context(), 1); !errors.Is(err, leasehold.ErrHeld) {
		s.Fatalf("TryAcquire while all permits are held: %v", err)
	}
	page, err := s.engine.List(s.Context(), driver.Query{Kind: driver.Semaphore, Name: "shared slots"})
	if err != nil || len(page) != 1 || len(page[0].Holders) != 2 {
		s.Errorf("listed %+v, %v; want two holders", page, err)
	}
	s.inJava(true, "permits.tryRelease", "shared slots", id)
	s.release(two)
	s.inJava(int64(3), "permits.availablePermits", "shared slots")
	s.inJava(int64(0), "permits.acquiredPermits", "shared slots")
}

// Go sets the number of permits if nobody has.
func permitsAreSetByGo(s *shared) {
	waits := s.waitInJava("permits.acquire", "set slots", 60000, javaside.Milliseconds)
	lease := s.acquire("set slots", 2, 1)
	if id := fmt.Sprint(s.mustReturn(waits)); len(id) != 32 {
		s.Errorf("Java acquired a permit with the id %q", id)
	}
	s.inJava(false, "permits.trySetPermits", "set slots", 5)
	s.inJava(int64(2), "permits.getPermits", "set slots")
	s.release(lease)
	s.inJava(int64(1), "permits.availablePermits", "set slots")
	s.java.MustCall(s.client, "permits.setPermits", "set slots", 4)
	s.acquire("set slots", 9, 3)
	s.inJava(int64(0), "permits.availablePermits", "set slots")
}

func releasedPermitsWakeTheOtherSide(s *shared) {
	s.inJava(true, "permits.trySetPermits", "released slots", 1)
	id := s.java.MustCall(s.client, "permits.acquire", "released slots")
	var lease *leasehold.Lease
	waits := s.waitInGo(func(ctx context.Context) (err error) {
		lease, err = s.golang.Semaphore("released slots", 1).Acquire(ctx, 1)
		return err
	})
	began := time.Now()
	s.inJava(nil, "permits.release", "released slots", id)
	s.mustEnd(waits)
	s.Logf("Go had the permit %v after the release in Java", time.Since(began).Round(100*time.Microsecond))
	java := s.waitInJava("permits.acquire", "released slots")
	began = time.Now()
	s.release(lease)
	s.mustReturn(java)
	s.Logf("Java had the permit %v after the release in Go", time.Since(began).Round(100*time.Microsecond))
}

// Permits of a program that has died come back when their leases end, to either side.
func expiredPermitsComeBackToTheOtherSide(s *shared) {
	attempt := 0
	problem := lateness.Try(s.T, func() string {
		attempt++
		return s.measureExpiredPermits(fmt.Sprint("expired slots ", attempt))
	})
	if problem != "" {
		s.Error(problem)
	}
}

// measureExpiredPermits returns what is wrong with how long the other side waited.
func (s *shared) measureExpiredPermits(name string) (problem string) {
	s.inJava(true, "permits.trySetPermits", name, 1)
	s.java.MustCall(s.client, "permits.acquire", name, 1500, javaside.Milliseconds)
	began := time.Now()
	request := driver.Request{
		Key: driver.Key{Kind: driver.Semaphore, Name: name}, Owner: name + ", an owner that dies", Size: 1, Weight: 1,
		TTL: 1500 * time.Millisecond, Tokens: 1,
	}
	if _, err := s.engine.Wait(s.Context(), request); err != nil {
		s.Fatal(err)
	}
	if d := time.Since(began); d < time.Second || d > 5*time.Second {
		problem = fmt.Sprintf("a permit of Java for 1.5s came back after %v", d)
	}
	began = time.Now()
	s.java.MustCall(s.client, "permits.acquire", name, 60000, javaside.Milliseconds)
	if d := time.Since(began); d < time.Second || d > 5*time.Second {
		problem = fmt.Sprintf("a permit of Go for 1.5s came back after %v", d)
	}
	if err := s.engine.Release(s.Context(), driver.Release{
		Hold: driver.Hold{Key: request.Key, Owner: request.Owner},
	}); !errors.Is(err, driver.ErrNotHeld) {
		s.Errorf("Release after the lease has ended: %v", err)
	}
	s.inJava(int64(0), "permits.availablePermits", name)
	return problem
}

// Each side may take permits away from the other, which notices, and gives back none.
func permitsAreTakenAway(s *shared) {
	const name = "forced slots"
	s.inJava(true, "permits.trySetPermits", name, 1)
	id := s.java.MustCall(s.client, "permits.acquire", name, 60000, javaside.Milliseconds)
	key := driver.Key{Kind: driver.Semaphore, Name: name}
	var lease *leasehold.Lease
	waits := s.waitInGo(func(ctx context.Context) (err error) {
		lease, err = s.golang.Semaphore(name, 1, leasehold.TTL(time.Second)).Acquire(ctx, 1)
		return err
	})
	if err := s.engine.ForceRelease(s.Context(), key, 0); err != nil {
		s.Fatal(err)
	}
	s.mustEnd(waits)
	s.inJava(false, "permits.tryRelease", name, id)
	s.inJava(int64(0), "permits.availablePermits", name)

	ids, err := s.rdb.ZRange(s.Context(), "{"+name+"}:timeout", 0, -1).Result()
	if err != nil || len(ids) != 1 {
		s.Fatalf("%d permits are held, %v", len(ids), err)
	}
	java := s.waitInJava("permits.acquire", name, 60000, javaside.Milliseconds)
	s.inJava(nil, "permits.release", name, hex.EncodeToString([]byte(ids[0])))
	s.mustReturn(java)
	if _, told := comes(s.T, lease.Context().Done(), 2*time.Second); !told {
		s.Error("the holder in Go was not told")
	}
	if err := lease.Release(); !errors.Is(err, leasehold.ErrLost) {
		s.Errorf("Release of a permit that was taken away: %v", err)
	}
	s.inJava(int64(0), "permits.availablePermits", name)
}
