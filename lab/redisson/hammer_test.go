package redisson

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/redisson/javaside"
	"github.com/leasehold-go/leasehold/lab/redisson/register"
)

// versions are those of Redisson that the tests run with.
var versions = []string{javaside.Newest, javaside.Oldest}

// sidesEach is how many threads of Java and how many clients in Go contend for an object.
const sidesEach = 4

// capacity is how many permits the semaphores have.
const capacity = 3

// hammer lets threads and clients contend for an object.
type hammer struct {
	javaside.Hammer
	name   string
	object string                                // what Java calls it. Default: the name.
	takes  []func(c *goClient, name string) take // how clients in Go take it, each in one of these ways

	register *register.Register
}

// hammers are all objects that are held.
var hammers = []hammer{
	{name: "lock", Hammer: javaside.Hammer{Kinds: []string{"lock"}, Again: 20},
		takes: []func(*goClient, string) take{takeLock, takePlain}},
	{name: "fenced", Hammer: javaside.Hammer{Kinds: []string{"fenced"}},
		takes: []func(*goClient, string) take{takeFenced, takeFencedEngine}},
	{name: "same", Hammer: javaside.Hammer{Kinds: []string{"lock", "fenced", "spin"}, Again: 20},
		takes: []func(*goClient, string) take{takeLock, takeFenced, takeSpin}},
	{name: "spin", Hammer: javaside.Hammer{Kinds: []string{"spin"}, Again: 20},
		takes: []func(*goClient, string) take{takeSpin, takeSpinEngine}},
	{name: "fair", Hammer: javaside.Hammer{Kinds: []string{"fair"}, Again: 20},
		takes: []func(*goClient, string) take{takeFair, takeFairEngine}},
	{name: "readwrite", Hammer: javaside.Hammer{Kinds: []string{"read", "read", "write"}, Again: 20},
		takes: []func(*goClient, string) take{takeReadWrite, takeReadWriteEngine}},
	{name: "multi", Hammer: javaside.Hammer{Kinds: []string{"multi"}, Again: 20},
		object: "client1.lock.multi1+client1.lock.multi2", takes: []func(*goClient, string) take{takeMulti}},
	{name: "red", Hammer: javaside.Hammer{Kinds: []string{"red"}, Again: 20},
		object: "client1.lock.red+client2.lock.red+client3.lock.red", takes: []func(*goClient, string) take{takeRed}},
	{name: "semaphore", Hammer: javaside.Hammer{Kinds: []string{"semaphore"}, Permits: 2},
		takes: []func(*goClient, string) take{takeSemaphore}},
	{name: "permits", Hammer: javaside.Hammer{Kinds: []string{"permits"}},
		takes: []func(*goClient, string) take{takePermits}},
}

// begin sets the object and its register up.
func (h *hammer) begin(t *testing.T, java *javaside.Program) {
	if h.object == "" {
		h.object = h.name
	}
	h.register = register.New()
	h.register.SetCapacity(h.object, capacity)
	if h.name == "semaphore" || h.name == "permits" {
		java.MustCall("client1", h.name+".trySetPermits", h.name, capacity)
	}
	h.Threads, h.For, h.Seed = sidesEach, hammerTime, time.Now().UnixNano()%1000
	h.Hold, h.Pause, h.Wait = 5*time.Millisecond, 5*time.Millisecond, 100*time.Millisecond
	h.Hammer.Register = h.register.Listen(t).Addr()
}

// inJava lets threads of some clients in Java take and hold it.
func (h *hammer) inJava(t *testing.T, java *javaside.Program, clients ...string) {
	var work sync.WaitGroup
	for _, client := range clients {
		work.Go(func() {
			did, err := java.Hammer(t.Context(), client, h.object, h.Hammer)
			t.Logf("%s: Java: %d holds, %d refused", h.name, did.Holds, did.Refused)
			for _, f := range did.Failures {
				t.Errorf("Java: %s", f)
			}
			if err != nil || did.Holds == 0 {
				t.Errorf("Java has held %d times: %v", did.Holds, err)
			}
		})
	}
	work.Wait()
}

// inGo lets clients in Go take and hold it, which reach the servers at some addresses, and the first also directly.
func (h *hammer) inGo(t *testing.T, addrs []string, direct string, faults bool) {
	end := time.Now().Add(hammerTime)
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(time.Minute)) // who then waits still, waits in vain
	defer cancel()
	var work sync.WaitGroup
	var all, allRefused atomic.Int64
	for i := range sidesEach {
		c := newGoClient(t, addrs, direct, faults)
		work.Go(func() {
			who := fmt.Sprintf("go%d", i)
			random := rand.New(rand.NewPCG(uint64(h.Seed), uint64(i)))
			w := goWorker{h.register, h.object, who, h.takes[i%len(h.takes)](c, h.name), random, faults}
			holds, refused, err := w.run(ctx, end)
			all.Add(int64(holds))
			allRefused.Add(int64(refused))
			if err != nil {
				t.Errorf("%s: %v", who, err)
			}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		t.Error("Go: somebody waited for a minute more")
	}
	t.Logf("%s: Go: %d holds, %d refused", h.name, all.Load(), allRefused.Load())
}

func (h *hammer) mustNotOverlap(t *testing.T) {
	for _, o := range h.register.Overlaps() {
		t.Error(o)
	}
}

// Four threads of Java and four clients in Go take and hold each object at random, and no two holds overlap that must
// not. Nothing is left behind.
func TestBothLanguagesExcludeEachOther(t *testing.T) {
	hammerBoth(t, func(t *testing.T, java *javaside.Program, servers []*redisserver.Server) (addrs []string) {
		t.Run("latch", func(t *testing.T) {
			t.Parallel()
			hammerLatch(t, java, servers[0])
		})
		for _, s := range servers {
			addrs = append(addrs, s.Addr())
		}
		return addrs
	}, false)
}

// The same while one of 20 requests of Go or its answer is lost, and the servers forget their scripts again and again:
// threads of Java work on, and get back what they do not hold.
func TestFaultsOfGoHarmNobody(t *testing.T) {
	hammerBoth(t, func(t *testing.T, _ *javaside.Program, servers []*redisserver.Server) (addrs []string) {
		for _, s := range servers {
			p := redisserver.ProxyForTest(t, s.Addr())
			p.Intercept(func(request []byte) redisserver.Action {
				if !bytes.Contains(request, []byte("eval")) || rand.N(20) > 0 {
					return redisserver.Pass
				}
				return []redisserver.Action{redisserver.CutBefore, redisserver.CutAfter}[rand.N(2)]
			})
			addrs = append(addrs, p.Addr())
			t.Run("forget", func(t *testing.T) {
				t.Parallel()
				for began := time.Now(); time.Since(began) < hammerTime; time.Sleep(50 * time.Millisecond) {
					if _, err := s.Command("SCRIPT", "FLUSH"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		return addrs
	}, true)
}

// hammerBoth hammers all objects. setup returns where clients in Go reach the servers.
func hammerBoth(
	t *testing.T, setup func(t *testing.T, java *javaside.Program, servers []*redisserver.Server) []string, faults bool,
) {
	if hammerTime < time.Minute { // a long hammer leaves no time to tests that measure it
		t.Parallel()
	}
	for _, version := range beside {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			java := javaside.Start(t, version)
			var servers []*redisserver.Server
			for i := range 3 {
				s := redisserver.ForTest(t, redisserver.Config{})
				c := javaside.Single(s.URL())
				c.Watchdog, c.WholeScripts = watchdog, faults // Java fails if a script is forgotten twice in a row
				java.MustOpen(fmt.Sprint("client", i+1), c)
				servers = append(servers, s)
			}
			t.Run("objects", func(t *testing.T) {
				addrs := setup(t, java, servers)
				for _, h := range hammers {
					t.Run(h.name, func(t *testing.T) {
						t.Parallel()
						h.begin(t, java)
						var work sync.WaitGroup
						work.Go(func() { h.inJava(t, java, "client1") })
						work.Go(func() { h.inGo(t, addrs, servers[0].Addr(), faults) })
						work.Wait()
						h.mustNotOverlap(t)
					})
				}
			})
			for _, s := range servers {
				checkNothingIsLeft(t, s)
			}
			checkPermitsAreBack(t, java)
		})
	}
}

// checkPermitsAreBack checks that the semaphores have all of their permits, also those that were taken for answers
// which got lost.
func checkPermitsAreBack(t *testing.T, java *javaside.Program) {
	t.Helper()
	for _, kind := range []string{"semaphore", "permits"} {
		var n any
		for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
			if n = java.MustCall("client1", kind+".availablePermits", kind); n == int64(capacity) {
				break
			}
		}
		if n != int64(capacity) {
			t.Errorf("%s: %v permits are available, want %d", kind, n, capacity)
		}
	}
}

// checkNothingIsLeft checks that no key of a lock is left but the counters of tokens, and what both sides remember for
// some seconds: Redisson its last unlocks, and leasehold to which waiters in Java it has given more time.
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
			remembered := strings.Contains(text, "waiters:{fair}:") ||
				strings.HasPrefix(text, "redisson_lock_token:")
			if !remembered && !strings.Contains(text, "semaphore") && !strings.Contains(text, "permits") &&
				!strings.Contains(text, "latch") {
				left = append(left, text)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind: %v", left)
}
