package redisson

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/goside"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
)

// newProgram starts a program in Go, or one in Java with a version of Redisson. Its clients are opened by the test.
func newProgram(t *testing.T, version string) *side {
	if version == "" {
		return &side{goside.Start(t), "Go"}
	}
	return &side{javaside.Start(t, version), "Java"}
}

// thread is a thread of a program that uses one object.
type thread struct {
	*testing.T
	side               *side
	client, kind, name string
	suffix             string // of the thread's own name, which is that of the object
}

func newThread(t *testing.T, s *side, client, kind, name string) thread {
	return thread{T: t, side: s, client: client, kind: kind, name: name}
}

func (th thread) must(method string, args ...any) {
	th.Helper()
	if _, err := th.call(method, args...); err != nil {
		th.Fatalf("%s of %s in %s: %v", method, th.name, th.side.language, err)
	}
}

func (th thread) call(method string, args ...any) (any, error) {
	return th.side.Call(th.Context(), javaside.Call{
		Client: th.client, Thread: th.name + th.suffix, Op: th.kind + "." + method, Name: th.name, Args: args,
	})
}

// lock waits until the object is held.
func (th thread) lock() <-chan error {
	method := "lock"
	if th.kind == "semaphore" {
		method = "acquire"
	}
	held := make(chan error, 1)
	go func() {
		_, err := th.call(method)
		held <- err
	}()
	return held
}

// awaitSleep returns when a thread that has subscribed sleeps until a message comes.
func (th thread) awaitSleep() {
	th.Helper()
	if th.side.language != "Java" { // it has a channel for messages, in which they stay
		return
	}
	if err := th.side.AwaitSleep(th.Context(), th.client, th.name+th.suffix); err != nil {
		th.Fatal(err)
	}
}

// tryLock asks whether an object is granted at once.
func (th thread) tryLock() (any, error) {
	if th.kind == "semaphore" {
		return th.call("tryAcquire")
	}
	return th.call("tryLock")
}

// mustTry checks whether an object is granted at once.
func (th thread) mustTry(want bool) {
	th.Helper()
	if got, err := th.tryLock(); got != want || err != nil {
		th.Fatalf("a try of %s %s in %s: %v, %v, want %v", th.kind, th.name, th.side.language, got, err, want)
	}
}

func (th thread) unlock() {
	th.Helper()
	if th.kind == "semaphore" {
		th.must("release")
		return
	}
	th.must("unlock")
}

// channelOf returns a pattern of the channels on which waiters for an object are notified.
func channelOf(kind, name string) string {
	switch kind {
	case "fair":
		return "redisson_lock__channel:{" + name + "}:*"
	case "write", "read":
		return "redisson_rwlock:{" + name + "}"
	case "semaphore":
		return "redisson_sc:{" + name + "}"
	}
	return "redisson_lock__channel:{" + name + "}"
}

// awaitSubscriber returns when somebody has subscribed on one of the servers. which is CHANNELS or SHARDCHANNELS.
func awaitSubscriber(t *testing.T, servers []*redisserver.Server, which, pattern string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, s := range servers {
			answer, err := s.Command("PUBSUB", which, pattern)
			if list, _ := answer.([]any); err == nil && len(list) > 0 {
				return
			}
		}
	}
	t.Fatalf("nobody has subscribed to %s", pattern)
}

// In a Cluster, an unlock wakes the other side whatever shardedSubscriptionMode is, as long as both agree.
func TestMessagesInACluster(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
			java, golang := newProgram(t, version), newProgram(t, "")
			for mode, which := range map[string]string{
				"AUTO": "SHARDCHANNELS", "ON": "SHARDCHANNELS", "OFF": "CHANNELS",
			} {
				config := javaside.Several("cluster", c.Addrs()...)
				config.Sharded = mode
				java.MustOpen(mode, config)
				golang.MustOpen(mode, config)
				for _, sides := range [][2]*side{{java, golang}, {golang, java}} {
					for _, kind := range []string{"lock", "fenced", "fair", "write", "semaphore"} {
						name := strings.Join([]string{mode, kind, sides[0].language}, " ")
						t.Run(strings.ReplaceAll(name, " ", "/")+"First", func(t *testing.T) {
							a := newThread(t, sides[0], mode, kind, name)
							b := newThread(t, sides[1], mode, kind, name)
							if kind == "semaphore" {
								a.must("trySetPermits", 1)
							}
							mustWake(t, kind, wakeLimit, func() time.Duration {
								if err := <-a.lock(); err != nil {
									t.Fatal(err)
								}
								held := b.lock()
								awaitSubscriber(t, c.Nodes, which, channelOf(kind, name))
								b.awaitSleep()
								began := time.Now()
								a.unlock()
								if err := <-held; err != nil {
									t.Fatal(err)
								}
								took := time.Since(began)
								b.unlock()
								return took
							})
						})
					}
				}
			}
		})
	}
}

// failoverWatchdog is the watchdog timeout of a test with a failover, which takes some seconds on a busy machine.
const failoverWatchdog = 30 * time.Second

// heldAndWanted are objects that one side holds, and the other waits for.
type heldAndWanted struct {
	a, b  thread
	held  <-chan error
	ended error // how the call of b has ended without the lock
	since time.Time
}

// holdAndWant lets the first of two sides hold some kinds of objects, and the second wait until it is notified by a
// server.
func holdAndWant(
	t *testing.T, all [][2]*side, client string, s *redisserver.Server, kinds ...string,
) (pairs []*heldAndWanted) {
	for _, sides := range all {
		for _, kind := range kinds {
			name := fmt.Sprintf("%s in %s of %s", kind, sides[0].language, t.Name())
			p := &heldAndWanted{
				a: newThread(t, sides[0], client, kind, name), b: newThread(t, sides[1], client, kind, name),
			}
			if kind == "read" { // while another one writes
				p.a.kind = "write"
			}
			if kind == "semaphore" {
				p.a.must("trySetPermits", 1)
			}
			if err := <-p.a.lock(); err != nil {
				t.Fatal(err)
			}
			p.held = p.b.lock()
			pairs = append(pairs, p)
		}
	}
	awaitAll(t, s, pairs)
	return pairs
}

// awaitAll returns when all that wait are subscribed.
func awaitAll(t *testing.T, s *redisserver.Server, pairs []*heldAndWanted) {
	for _, p := range pairs {
		awaitSubscriber(t, []*redisserver.Server{s}, "CHANNELS", channelOf(p.b.kind, p.b.name))
		p.b.awaitSleep()
	}
}

// mustPass checks that nobody has got what the other side holds, and gets it after the unlock.
func mustPass(t *testing.T, pairs []*heldAndWanted) {
	for _, p := range pairs {
		select {
		case err := <-p.held:
			t.Errorf("%s is held by both sides: %v", p.a.name, err)
			continue
		default:
		}
		began := time.Now()
		p.a.unlock()
		if err := <-p.held; err != nil {
			t.Errorf("%s: %v", p.b.name, err)
			continue
		}
		t.Logf("%s: the waiter had it %v after the unlock", p.b.name, time.Since(began))
		p.b.unlock()
	}
}

// Java keeps what it holds when the server is killed and comes back, or when it ends subscriptions, or all connections.
// Go waits on, and is notified of the unlock. The other way round, a call in Java that waits may end with an error, or
// lose its subscription and sleep on, whoever is beside it.
func TestServerFaultsWhileGoWaits(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes", "appendfsync always"}})
			config := javaside.Single(s.URL())
			config.Watchdog = failoverWatchdog
			java, golang := newProgram(t, version), newProgram(t, "")
			java.MustOpen("c", config)
			golang.MustOpen("c", config)
			command := func(words ...string) {
				if _, err := s.Command(words...); err != nil {
					t.Error(err)
				}
			}
			for _, fault := range []struct {
				name   string
				strike func()
			}{
				{"subscriptions", func() { command("CLIENT", "KILL", "TYPE", "pubsub") }},
				{"connections", func() {
					command("CLIENT", "KILL", "TYPE", "pubsub")
					command("CLIENT", "KILL", "TYPE", "normal")
				}},
				{"restart", func() {
					s.Kill()
					if err := s.Restart(); err != nil {
						t.Fatal(err)
					}
				}},
			} {
				t.Run(fault.name, func(t *testing.T) {
					sides := [][2]*side{{java, golang}}
					pairs := holdAndWant(t, sides, "c", s, "lock", "fenced", "fair", "write", "semaphore")
					began := time.Now()
					fault.strike()
					awaitAll(t, s, pairs)
					t.Logf("all were subscribed after %v", time.Since(began))
					mustPass(t, pairs)
				})
			}
		})
	}
}

// Behind Sentinels, each side keeps what it holds through a failover to a replica that knows it, and the other side
// waits on, and has it after the unlock on the new master. Go is notified. A waiter in Java may have lost its
// subscription, and then sleeps until the lease would have ended.
func TestFailoverWhileBothSidesWait(t *testing.T) {
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := redisserver.ReplicatedForTest(t, 2, redisserver.Config{})
			s := redisserver.SentinelsForTest(t, 3, r)
			config := javaside.Several("sentinel", s.Addrs()...)
			config.MasterName, config.Watchdog = redisserver.MasterName, failoverWatchdog
			java, golang := newProgram(t, version), newProgram(t, "")
			java.MustOpen("c", config)
			golang.MustOpen("c", config)
			bothWays := [][2]*side{{java, golang}, {golang, java}}
			pairs := holdAndWant(t, bothWays, "c", r.Master, "lock", "fenced", "fair", "write")
			for _, replica := range r.Replicas {
				if err := replica.AwaitReplicaOf(r.Master); err != nil {
					t.Fatal(err)
				}
			}
			killed := time.Now()
			r.Master.Kill()
			promoted, err := s.AwaitMaster(r.Master)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("the new master was there after %v", time.Since(killed))
			inGo := slices.DeleteFunc(slices.Clone(pairs), func(p *heldAndWanted) bool { return p.b.side != golang })
			awaitAll(t, promoted, inGo)
			t.Logf("all in Go were subscribed after %v", time.Since(killed))
			time.Sleep(time.Until(killed.Add(failoverWatchdog * 3 / 2))) // what nobody renews ends meanwhile
			mustPass(t, pairs)
		})
	}
}
