package redisson_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// onePoll is less than what passes between two polls of a waiter that hears of no release.
const onePoll = 9 * time.Second

// command sends a command to a server. It must succeed.
func command(t *testing.T, s *redisserver.Server, words ...string) any {
	t.Helper()
	answer, err := s.Command(words...)
	must(t, err)
	return answer
}

// persistent configures servers that keep everything over a crash.
var persistent = redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}}

// restart kills a server, and starts it again with what it has kept.
func restart(t *testing.T, s *redisserver.Server) {
	t.Helper()
	s.Kill()
	must(t, s.Restart())
}

// leftover returns the keys of a server that nobody needs when nothing is held: all but counters, latches that have an
// end, what remembers requests for a while, and the numbers of permits, which have a name of their own.
func leftover(t *testing.T, s *redisserver.Server) (keys []string) {
	t.Helper()
	for _, key := range command(t, s, "KEYS", "*").([]any) {
		key := key.(string)
		stays := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		if !slices.ContainsFunc([]string{"redisson_lock_token:", "leasehold_permits_set:", "leasehold_latch:",
			"leasehold_semaphore:", "permits ", "latch:"}, stays) {
			keys = append(keys, key)
		}
	}
	return keys
}

func checkNothingLeft(t *testing.T, s *redisserver.Server) {
	t.Helper()
	var keys []string
	for end := time.Now().Add(onePoll); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if keys = leftover(t, s); len(keys) == 0 {
			return
		}
	}
	t.Errorf("this is left behind: %q", keys)
}

// waitedFor is something that others wait for.
type waitedFor struct {
	lock redisson.LockType
	// hold lets the waiter wait. free lets it go on.
	hold, free func(t *testing.T, e *redisson.Engine)
	// wait returns when it is free, and gives it back.
	wait func(ctx context.Context, e *redisson.Engine, c *leasehold.Client) error
	// Where it is kept nowhere but on the server, a server that loses it lets nobody go on until it is freed.
	freeWhenLost bool
}

// holdable is something with holders.
func holdable(
	lock redisson.LockType, r driver.Request,
	take func(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error),
) waitedFor {
	return waitedFor{
		lock: lock,
		hold: func(t *testing.T, e *redisson.Engine) {
			_, err := e.Take(t.Context(), r)
			must(t, err)
		},
		free: func(t *testing.T, e *redisson.Engine) { // the server may have lost it, or some connections
			for range 3 {
				err := e.Release(t.Context(), driver.Release{Hold: holdOf(r)})
				if err == nil || driver.IsNo(err) {
					return
				}
			}
			t.Error("the holder cannot release")
		},
		wait: func(ctx context.Context, _ *redisson.Engine, c *leasehold.Client) error {
			lease, err := take(ctx, c)
			if err != nil {
				return err
			}
			return lease.Release()
		},
		freeWhenLost: true,
	}
}

func mutexOf(lock redisson.LockType) waitedFor {
	r := request("holder", "order", driver.Exclusive)
	r.TTL = time.Minute
	return holdable(lock, r, func(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error) {
		return c.Mutex("order").Lock(ctx)
	})
}

// everythingWaitedFor is all that one can wait for.
var everythingWaitedFor = map[string]waitedFor{
	"Fenced": mutexOf(redisson.Fenced), "Plain": mutexOf(redisson.Plain), "Spin": mutexOf(redisson.Spin),
	"ReadWrite": mutexOf(redisson.ReadWrite), "Fair": mutexOf(redisson.Fair),
	"Reader": holdable(redisson.ReadWrite, request("holder", "order", driver.Exclusive),
		func(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error) {
			return c.RWMutex("order").RLock(ctx)
		}),
	"Permits": holdable(redisson.Fenced, permits("permits of all", 3, 2),
		func(ctx context.Context, c *leasehold.Client) (*leasehold.Lease, error) {
			return c.Semaphore("permits of all", 3).Acquire(ctx, 2)
		}),
	"Semaphore": {
		hold: func(*testing.T, *redisson.Engine) {},
		free: func(t *testing.T, e *redisson.Engine) {
			must(t, e.Semaphore("permits of none").Release(t.Context(), 2))
		},
		wait: func(ctx context.Context, e *redisson.Engine, _ *leasehold.Client) error {
			return e.Semaphore("permits of none").Acquire(ctx, 2)
		},
	},
	"Latch": {
		hold: func(t *testing.T, e *redisson.Engine) {
			_, err := e.TrySet(t.Context(), latchSet("latch", 1))
			must(t, err)
		},
		free: func(t *testing.T, e *redisson.Engine) {
			if _, err := e.CountDown(t.Context(), latchDown("latch")); err != nil && !driver.IsNo(err) {
				t.Error(err)
			}
		},
		wait: func(ctx context.Context, _ *redisson.Engine, c *leasehold.Client) error {
			err := c.Latch("latch").Wait(ctx)
			if errors.Is(err, leasehold.ErrNotSet) {
				return nil // the server has lost it
			}
			return err
		},
		freeWhenLost: true,
	},
}

// Whatever happens to a server, to its scripts, and to connections, and whatever messages come: who waits goes on
// within one poll of what it waits for, not before, and nothing is left behind.
func TestWaitersOutliveFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		config redisserver.Config
		strike func(t *testing.T, s *redisserver.Server)
		loses  bool // everything that the server knew
	}{
		"NoFault": {strike: func(*testing.T, *redisserver.Server) {}},
		"SubscriptionKilled": {strike: func(t *testing.T, s *redisserver.Server) {
			command(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
		}},
		"AllConnectionsKilled": {strike: func(t *testing.T, s *redisserver.Server) {
			command(t, s, "CLIENT", "KILL", "TYPE", "pubsub")
			command(t, s, "CLIENT", "KILL", "TYPE", "normal")
		}},
		"StrangeMessages": {strike: func(t *testing.T, s *redisserver.Server) {
			for _, channel := range command(t, s, "PUBSUB", "CHANNELS").([]any) {
				for _, message := range []string{"", "x", "-1", "1e9", "99999999999999999999", "\x00\xff"} {
					command(t, s, "PUBLISH", channel.(string), message)
				}
			}
		}},
		"ScriptsFlushed":     {strike: func(t *testing.T, s *redisserver.Server) { command(t, s, "SCRIPT", "FLUSH") }},
		"Restart":            {config: persistent, strike: restart},
		"RestartWithoutData": {strike: restart, loses: true},
		"Paused": {strike: func(t *testing.T, s *redisserver.Server) {
			must(t, s.Pause())
			time.Sleep(time.Second) // for so long
			must(t, s.Resume())
		}},
	} {
		for kind, x := range everythingWaitedFor {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				s := redisserver.ForTest(t, fault.config)
				client := func(t *testing.T) goredis.UniversalClient {
					return closed(t, goredis.NewClient(&goredis.Options{
						Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1,
					}))
				}
				holder, waiter := open(t, client, redisson.WithLock(x.lock)), open(t, client, redisson.WithLock(x.lock))
				c := leasehold.New(waiter)
				t.Cleanup(func() { _ = c.Close() })
				x.hold(t, holder)
				waited := make(chan error, 1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				go func() { waited <- x.wait(ctx, waiter, c) }()
				eventually(t, "somebody waits", func() bool {
					if x.lock == redisson.Spin {
						return countScripts(t, s) > 3
					}
					return len(command(t, s, "PUBSUB", "CHANNELS").([]any)) > 0
				})

				fault.strike(t, s)
				began := time.Now()
				if !fault.loses || !x.freeWhenLost {
					if len(waited) > 0 {
						t.Errorf("the waiter went on before it was free: %v", <-waited)
					}
					x.free(t, holder)
				}
				select {
				case err := <-waited:
					if err != nil {
						t.Errorf("the waiter: %v", err)
					}
					if took := time.Since(began); took > 3*time.Second {
						t.Logf("the waiter went on after %v", took)
					}
				case <-time.After(onePoll):
					t.Fatalf("the waiter sleeps for more than %v", onePoll)
				}
				if fault.loses && x.freeWhenLost {
					x.free(t, holder)
				}
				checkNothingLeft(t, s)
				if n, want := command(t, s, "GET", "permits of all"), map[string]any{"Permits": "3"}[kind]; n != want {
					t.Errorf("%v permits are there at the end, want %v", n, want)
				}
			})
		}
	}
}
