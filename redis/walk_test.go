package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// addLocks puts n locks of another process on a server, and returns their names in order.
func addLocks(t *testing.T, s *redisserver.Server, n int) (names []string) {
	t.Helper()
	command(t, s, "EVAL", `for i = 1, tonumber(ARGV[1]) do
  local name = string.format('name %06d', i)
  redis.call('SET', 'lock:' .. name, 'owner\n7 1 1700000000000000\nholder\n', 'PX', 600000)
  redis.call('SET', '{lock:' .. name .. '}:token', '7', 'PX', 600000)
end`, "0", fmt.Sprint(n))
	for i := range n {
		names = append(names, fmt.Sprintf("name %06d", i+1))
	}
	return names
}

// walkNames returns the names that a walk finds.
func walkNames(ctx context.Context, w driver.Operator, q driver.Query) (names []string, err error) {
	err = w.Walk(ctx, q, func(piece []driver.Status) bool {
		for _, st := range piece {
			names = append(names, st.Name)
		}
		return true
	})
	return names, err
}

// scriptCalls is the number of scripts that clients have sent to a server.
func scriptCalls(t *testing.T, s *redisserver.Server) (n int) {
	t.Helper()
	text, err := s.Command("INFO", "commandstats")
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"evalsha", "evalsha_ro"} {
		count := 0
		_, calls, _ := strings.Cut(text.(string), "cmdstat_"+by+":calls=")
		_, _ = fmt.Sscanf(calls, "%d", &count)
		n += count
	}
	return n
}

// A search goes in steps, and what it finds is read in pieces.
func TestWalkOfManyNames(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	want := addLocks(t, s, 5000)
	e := unguarded(t, standalone(s))
	steps, pieces, largest := 0, 0, 0
	var got []string
	err := e.Walk(t.Context(), driver.Query{Progress: func(n int) { steps++ }}, func(piece []driver.Status) bool {
		pieces, largest = pieces+1, max(largest, len(piece))
		for _, st := range piece {
			got = append(got, st.Name)
		}
		return true
	})
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d names, %v; want %d", len(got), err, len(want))
	}
	if steps < 5 || pieces < 25 || largest > 200 {
		t.Errorf("%d steps, %d pieces of up to %d names: too much in one step", steps, pieces, largest)
	}
	// For a page of a few names, few are read.
	before := scriptCalls(t, s)
	if page, err := e.List(t.Context(), driver.Query{Limit: 3}); err != nil || len(page) != 3 {
		t.Errorf("a page of 3 has %d entries, %v", len(page), err)
	}
	if n := scriptCalls(t, s) - before; n > 3 {
		t.Errorf("a page of 3 took %d scripts", n)
	}
}

// Keys of other programs among the locks are skipped, and prevent no listing.
func TestWalkPastOtherKeys(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	mustTake(t, e, lasting("ours", time.Minute))
	mustTake(t, e, lasting("with a list for a queue", time.Minute))
	for _, words := range [][]string{
		{"HSET", "lock:hash", "a", "b"}, {"RPUSH", "lock:list", "a"}, {"ZADD", "lock:set", "1", "a"},
		{"SET", "{lock:latch}:latch", "a"},
		{"RPUSH", "{lock:with a list for a queue}:queue", "a"}, {"SET", "other:lock:string", "a"},
		{"SET", "lock:", "a"}, {"SET", "{lock:", "a"},
	} {
		command(t, s, words...)
	}
	got, err := walkNames(t.Context(), e, driver.Query{})
	if err != nil || !slices.Equal(got, []string{"ours"}) {
		t.Errorf("got %q, %v, want ours alone", got, err)
	}
	// A query for one of them by name returns an error that says why nothing can be listed.
	if _, err := walkNames(t.Context(), e, driver.Query{Name: "hash"}); !driver.IsPermanent(err) ||
		!strings.Contains(err.Error(), "another program") {
		t.Errorf("a query for a hash: %v", err)
	}
}

// A walk ends when the server is gone half-way, and does not report success.
func TestWalkThatIsCutOff(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	want := addLocks(t, s, 5000)
	for name, c := range map[string]struct {
		command string
		nth     int64
		action  redisserver.Action
	}{
		"in the search":                     {"scan", 3, redisserver.CutAfter},
		"in a status read":                  {"evalsha_ro", 1500, redisserver.CutBefore},
		"without an answer":                 {"scan", 3, redisserver.Hold},
		"without an answer to status reads": {"evalsha_ro", 1500, redisserver.Hold},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redisserver.ProxyForTest(t, s.Addr())
			e := unguarded(t, noRetries(p.Addr()))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var count atomic.Int64
			var began atomic.Pointer[time.Time]
			p.Intercept(func(request []byte) redisserver.Action {
				words := redisserver.Words(request)
				if len(words) == 0 || !strings.EqualFold(words[0], c.command) || count.Add(1) < c.nth {
					return redisserver.Pass
				}
				if now := time.Now(); began.CompareAndSwap(nil, &now) && c.action == redisserver.Hold {
					time.AfterFunc(500*time.Millisecond, cancel)
				}
				return c.action
			})
			got, err := walkNames(ctx, e, driver.Query{})
			if err == nil || !driver.HadNoEffect(err) || len(got) >= len(want) {
				t.Errorf("got %d names, %v, want an error", len(got), err)
			}
			if since := began.Load(); since == nil {
				t.Errorf("%s was not sent %d times", c.command, c.nth)
			} else if took := time.Since(*since); took > atOnce {
				t.Errorf("it took %v", took)
			}
			p.Intercept(nil)
			p.Release()
			if got, err := walkNames(t.Context(), e, driver.Query{}); err != nil || len(got) != len(want) {
				t.Errorf("after it, got %d names, %v", len(got), err)
			}
		})
	}
}

// A walk on a silent server is given up, even if the context never ends and the client waits for ever.
func TestWalkOnASilentServer(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	p := redisserver.ProxyForTest(t, s.Addr())
	e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		return closed(t, goredis.NewClient(&goredis.Options{Addr: p.Addr(), ReadTimeout: time.Hour}))
	})
	mustTake(t, e, lasting("a", time.Minute))
	p.Freeze()
	t.Cleanup(p.Cut)
	began := time.Now()
	for _, q := range []driver.Query{{}, {Name: "a"}} {
		if _, err := walkNames(context.WithoutCancel(t.Context()), e, q); err == nil || !driver.HadNoEffect(err) {
			t.Errorf("%v, want an error", err)
		}
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}

func TestWalkWithoutTheRightToScan(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	addUser(t, s, "blind", slices.DeleteFunc(smallestRights(t), func(word string) bool { return word == "+scan" }))
	e := unguarded(t, asUser(s, "blind"))
	mustTake(t, e, lasting("a", time.Minute))
	for what, f := range map[string]func() error{
		"Walk":  func() error { _, err := walkNames(t.Context(), e, driver.Query{}); return err },
		"List":  func() error { _, err := e.List(t.Context(), driver.Query{}); return err },
		"Leaks": func() error { _, err := findLeaks(t.Context(), e, driver.Query{}); return err },
	} {
		if err := f(); !driver.IsPermanent(err) || !strings.Contains(err.Error(), "smallest rights") ||
			!strings.Contains(err.Error(), "scan") {
			t.Errorf("%s: %v, want a permanent error about the right to scan", what, err)
		}
	}
	if got, err := walkNames(t.Context(), e, driver.Query{Name: "a"}); err != nil || len(got) != 1 {
		t.Errorf("one name: %q, %v", got, err)
	}
}

func TestWalkAfterClose(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := walkNames(t.Context(), e, driver.Query{}); !driver.IsPermanent(err) {
		t.Errorf("Walk: %v", err)
	}
	if _, err := findLeaks(t.Context(), e, driver.Query{Name: "a"}); !driver.IsPermanent(err) {
		t.Errorf("Leaks: %v", err)
	}
}

// requestHook calls functions around each request of a client to one server.
type requestHook struct {
	addr   string
	before func(addr, command string) // before it is sent
	after  func(addr, command string) // after it was answered
}

func (h requestHook) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h requestHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (h requestHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		h.before(h.addr, cmd.Name())
		err := next(ctx, cmd)
		h.after(h.addr, cmd.Name())
		return err
	}
}

// A key that is moved from a master that is still to be searched to one that has been searched is found nevertheless,
// once.
func TestWalkWhileASlotIsMoved(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	e := unguarded(t, cluster(c))
	var want []string
	for i := range 30 {
		r := lasting(fmt.Sprintf("name %02d", i), time.Minute)
		mustTake(t, e, r)
		want = append(want, r.Name)
	}
	key := redis.DefaultPrefix + want[0]
	slot := redisserver.Slot(key)
	from, err := c.Owner(slot)
	if err != nil {
		t.Fatal(err)
	}
	to := c.Nodes[(slices.Index(c.Nodes, from)+1)%3]
	var searched, moved atomic.Bool
	through := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		nodes := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
		nodes.OnNewNode(func(node *goredis.Client) {
			addr := node.Options().Addr
			node.AddHook(requestHook{addr,
				func(addr, command string) {
					if command != "scan" || addr != from.Addr() || moved.Swap(true) {
						return
					}
					eventually(t, "the other master is searched", searched.Load)
					m, err := c.StartMigration(slot, to)
					if err == nil {
						err = m.Move(key, "{"+key+"}:token")
					}
					if err == nil {
						err = m.Finish()
					}
					if err != nil {
						t.Error(err)
					}
				},
				func(addr, command string) {
					if command == "scan" && addr == to.Addr() {
						searched.Store(true)
					}
				},
			})
		})
		return closed(t, nodes)
	})
	got, err := walkNames(t.Context(), through, driver.Query{})
	if err != nil || !moved.Load() || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A restarted server has other cursors: a search that began before fails, or finds all names.
func TestWalkOverAServerThatRestarts(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{Lines: []string{"appendonly yes"}})
	want := addLocks(t, s, 5000)
	e := unguarded(t, standalone(s)) // its client tries again by itself
	restarted := false
	got, err := walkNames(t.Context(), e, driver.Query{Progress: func(int) {
		if !restarted {
			restarted = true
			s.Kill()
			if err := s.Restart(); err != nil {
				t.Error(err)
			}
		}
	}})
	if err == nil && !slices.Equal(got, want) || err != nil && !driver.HadNoEffect(err) {
		t.Errorf("got %d names, %v, want all or an error", len(got), err)
	}
	if errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
