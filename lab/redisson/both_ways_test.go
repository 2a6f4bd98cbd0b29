package redisson

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// lock is one lock, as a thread of either language sees it.
type lock interface {
	Lock(ctx context.Context, opts ...objects.LockOption) error
	TryLock(ctx context.Context, opts ...objects.LockOption) (bool, error)
	Unlock() error
	ForceUnlock(ctx context.Context) (bool, error)
}

// javaLock is a lock in a thread of Java.
type javaLock struct {
	java                 *javaside.Program
	kind, client, thread string
	name                 string
}

func (l javaLock) call(ctx context.Context, method string, args ...any) (any, error) {
	return l.java.Call(ctx, javaside.Call{
		Client: l.client, Thread: l.thread, Op: l.kind + "." + method, Name: l.name, Args: args,
	})
}

func (l javaLock) Lock(ctx context.Context, _ ...objects.LockOption) error {
	_, err := l.call(ctx, "lock")
	return err
}

func (l javaLock) TryLock(ctx context.Context, _ ...objects.LockOption) (bool, error) {
	answer, err := l.call(ctx, "tryLock")
	return answer == true, err
}

func (l javaLock) Unlock() error {
	_, err := l.call(context.Background(), "unlock")
	if e, thrown := errors.AsType[javaside.Error](err); thrown && e.Class() == "IllegalMonitorStateException" {
		return errors.Join(objects.ErrNotHeld, err)
	}
	return err
}

func (l javaLock) ForceUnlock(ctx context.Context) (bool, error) {
	answer, err := l.call(ctx, "forceUnlock")
	return answer == true, err
}

// kinds are the locks that both languages have: how Java calls them, and how to make one in Go.
var kinds = map[string]func(c *objects.Client, name string) lock{
	"lock":   func(c *objects.Client, name string) lock { return c.Lock(name) },
	"fenced": func(c *objects.Client, name string) lock { return c.FencedLock(name) },
	"spin":   func(c *objects.Client, name string) lock { return c.SpinLock(name) },
	"fair":   func(c *objects.Client, name string) lock { return c.FairLock(name) },
	"write":  func(c *objects.Client, name string) lock { return c.ReadWriteLock(name) },
}

// sides are a program in each language that share a server.
type sides struct {
	*testing.T
	server     *redisserver.Server
	kind, name string
}

// watchdog is the watchdog timeout of both sides.
const watchdog = 3 * time.Second

// onBothSides runs a test for each kind of lock and each version of Redisson, once with Java and once with Go in the
// first role.
func onBothSides(t *testing.T, test func(s *sides, a, b lock)) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			java := javaside.Start(t, version)
			server := redisserver.ForTest(t, redisserver.Config{})
			config := javaside.Single(server.URL())
			config.Watchdog = watchdog
			java.MustOpen("java", config)
			golang := newClient(t, server)
			for kind, make := range kinds {
				for _, who := range []string{"JavaThenGo", "GoThenJava"} {
					name := kind + who
					var inJava lock = javaLock{java: java, kind: kind, client: "java", thread: name, name: name}
					inGo := make(golang, name)
					t.Run(kind+"/"+who, func(t *testing.T) {
						t.Parallel()
						s := &sides{T: t, server: server, kind: kind, name: name}
						if who == "JavaThenGo" {
							test(s, inJava, inGo)
						} else {
							test(s, inGo, inJava)
						}
					})
				}
			}
		})
	}
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

func (s *sides) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *sides) mustTry(l lock, want bool) {
	s.Helper()
	if got, err := l.TryLock(s.Context()); err != nil || got != want {
		s.Fatalf("tryLock: %v, %v, want %v", got, err, want)
	}
}

// These tests do not run beside each other: each starts a Java process for each version of Redisson, and a small
// machine has no room for many of them.

// What one side holds, the other does not get, until the holder has unlocked as often as it has locked.
func TestOneSideExcludesTheOther(t *testing.T) {
	onBothSides(t, func(s *sides, a, b lock) {
		s.must(a.Lock(s.Context()))
		s.mustTry(b, false)
		s.mustTry(a, true)
		s.must(a.Unlock())
		s.mustTry(b, false)
		s.must(a.Unlock())
		s.mustTry(b, true)
		if err := a.Unlock(); !errors.Is(err, objects.ErrNotHeld) {
			s.Errorf("unlock by a stranger: %v", err)
		}
		s.must(b.Unlock())
	})
}

// An unlock wakes a waiter of the other side by a message: neither side would ask again before the lease of the holder,
// which is renewed, ends.
func TestUnlockWakesTheOtherSide(t *testing.T) {
	onBothSides(t, func(s *sides, a, b lock) {
		s.must(a.Lock(s.Context()))
		locked := make(chan error, 1)
		go func() { locked <- b.Lock(s.Context()) }()
		s.awaitWaiter()
		began := time.Now()
		s.must(a.Unlock())
		s.must(<-locked)
		s.Logf("the waiter had the lock %v after the unlock", time.Since(began).Round(100*time.Microsecond))
		s.must(b.Unlock())
	})
}

// awaitWaiter returns when somebody is notified of an unlock. The waiters of a spin lock are not.
func (s *sides) awaitWaiter() {
	s.Helper()
	count := []string{"PUBSUB", "NUMSUB", "redisson_lock__channel:{" + s.name + "}"}
	switch s.kind {
	case "spin":
		return
	case "write":
		count[2] = "redisson_rwlock:{" + s.name + "}"
	case "fair": // each waiter has a channel of its own
		count = []string{"PUBSUB", "CHANNELS", "redisson_lock__channel:{" + s.name + "}:*"}
	}
	for {
		answer, err := s.server.Command(count...)
		s.must(err)
		if list, _ := answer.([]any); len(list) > 0 && list[len(list)-1] != int64(0) {
			return
		}
		s.must(s.Context().Err())
	}
}

// The watchdog of a holder keeps the lock from the other side for three times its timeout.
func TestWatchdogKeepsTheOtherSideOut(t *testing.T) {
	onBothSides(t, func(s *sides, a, b lock) {
		s.must(a.Lock(s.Context()))
		for end := time.Now().Add(3 * watchdog); time.Now().Before(end); time.Sleep(watchdog / 10) {
			s.mustTry(b, false)
		}
		s.must(a.Unlock())
		s.mustTry(b, true)
		s.must(b.Unlock())
	})
}

// Either side may take a lock away from the other, whose unlock then fails.
func TestForceUnlockOfTheOtherSide(t *testing.T) {
	onBothSides(t, func(s *sides, a, b lock) {
		s.must(a.Lock(s.Context()))
		if ok, err := b.ForceUnlock(s.Context()); !ok || err != nil {
			s.Fatalf("forceUnlock: %v, %v", ok, err)
		}
		s.mustTry(b, true)
		if err := a.Unlock(); !errors.Is(err, objects.ErrNotHeld) {
			s.Errorf("unlock of a lock that was taken away: %v", err)
		}
		s.must(b.Unlock())
	})
}
