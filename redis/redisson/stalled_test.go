package redisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/driver/drivertest"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// stallable are servers that can stop to answer.
type stallable struct {
	client newClient
	all    []*redisserver.Server
}

// stall stops the servers until the test ends.
func (s stallable) stall(t *testing.T) {
	for _, server := range s.all {
		if err := server.Pause(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Resume() })
	}
}

// stallables start servers to stop.
var stallables = map[string]func(t *testing.T) stallable{
	"OneServer": func(t *testing.T) stallable {
		s := redisserver.ForTest(t, redisserver.Config{})
		return stallable{standalone(s), []*redisserver.Server{s}}
	},
	"Cluster": func(t *testing.T) stallable {
		c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
		return stallable{cluster(c), c.Nodes}
	},
}

// Whatever the servers do, a request ends with its context, also that of an engine that has not reached them before.
func TestRequestsToStalledServersEnd(t *testing.T) {
	t.Parallel()
	for where, start := range stallables {
		for name, lock := range lockTypes {
			for when, run := range map[string]func(
				*testing.T, func(t *testing.T) driver.Engine, func(t *testing.T), time.Duration,
			){"AfterUse": drivertest.RunStalled, "AtFirst": drivertest.RunStalledAtFirst} {
				if lock != redisson.Fenced && (where == "Cluster") != (when == "AtFirst") {
					continue // the type makes no difference
				}
				t.Run(where+"/"+name+"/"+when, func(t *testing.T) {
					t.Parallel()
					s := start(t)
					run(t, func(t *testing.T) driver.Engine {
						return open(t, s.client, redisson.WithLock(lock), redisson.WithJavaWatchdogTimeout(time.Hour))
					}, s.stall, 0)
				})
			}
		}
	}
}

// The same for semaphores without leases.
func TestSemaphoreCallsToStalledServersEnd(t *testing.T) {
	t.Parallel()
	for where, start := range stallables {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			used := open(t, s.client).Semaphore("pool")
			mustAcquire(t, used, 1, false)
			s.stall(t)
			for when, semaphore := range map[string]*redisson.Semaphore{
				"AfterUse": used, "AtFirst": open(t, s.client).Semaphore("pool"),
			} {
				for name, call := range semaphoreCalls {
					t.Run(when+"/"+name, func(t *testing.T) {
						t.Parallel()
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						time.AfterFunc(50*time.Millisecond, cancel)
						returned := make(chan error, 1)
						go func() { returned <- call(ctx, semaphore) }()
						select {
						case err := <-returned:
							if err == nil {
								t.Error("it succeeded, although no server answers")
							}
						case <-time.After(5 * time.Second):
							t.Error("it did not return when its context ended")
						}
					})
				}
			}
		})
	}
}

// semaphoreCalls are calls of each method that sends something.
var semaphoreCalls = map[string]func(ctx context.Context, s *redisson.Semaphore) error{
	"TryAcquire": func(ctx context.Context, s *redisson.Semaphore) error { _, err := s.TryAcquire(ctx, 1); return err },
	"Acquire":    func(ctx context.Context, s *redisson.Semaphore) error { return s.Acquire(ctx, 1) },
	"Release":    func(ctx context.Context, s *redisson.Semaphore) error { return s.Release(ctx, 1) },
	"AddPermits": func(ctx context.Context, s *redisson.Semaphore) error { return s.AddPermits(ctx, 1) },
	"ReleaseIfExists": func(ctx context.Context, s *redisson.Semaphore) error {
		_, err := s.ReleaseIfExists(ctx, 1)
		return err
	},
	"TrySetPermits": func(ctx context.Context, s *redisson.Semaphore) error {
		_, err := s.TrySetPermits(ctx, 1)
		return err
	},
	"TrySetPermitsFor": func(ctx context.Context, s *redisson.Semaphore) error {
		_, err := s.TrySetPermitsFor(ctx, 1, time.Minute)
		return err
	},
	"DrainPermits": func(ctx context.Context, s *redisson.Semaphore) error {
		_, err := s.DrainPermits(ctx)
		return err
	},
	"AvailablePermits": func(ctx context.Context, s *redisson.Semaphore) error {
		_, err := s.AvailablePermits(ctx)
		return err
	},
}
