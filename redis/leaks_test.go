package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// findLeaks returns the leaks that Leaks reports.
func findLeaks(ctx context.Context, s driver.Operator, q driver.Query) (all []driver.Leak, err error) {
	err = s.Leaks(ctx, q, func(l driver.Leak) bool {
		all = append(all, l)
		return true
	})
	return all, err
}

// leaksOf returns the leaks of one name, and checks that a search and a request for the name find the same.
func leaksOf(t *testing.T, s driver.Operator, name string) []driver.Leak {
	t.Helper()
	asked, err := findLeaks(t.Context(), s, driver.Query{Name: name})
	if err != nil {
		t.Fatalf("Leaks of %q: %v", name, err)
	}
	searched, err := findLeaks(t.Context(), s, driver.Query{Prefix: name})
	if err != nil {
		t.Fatalf("Leaks: %v", err)
	}
	if len(asked) != len(searched) {
		t.Errorf("Leaks of %q: %+v by name, and %+v by a search", name, asked, searched)
	}
	return asked
}

// onlyLeak returns the only leak of a name.
func onlyLeak(t *testing.T, s driver.Operator, name string) driver.Leak {
	t.Helper()
	all := leaksOf(t, s, name)
	if len(all) != 1 {
		t.Fatalf("found %+v, want one leak of %q", all, name)
	}
	return all[0]
}

// makeUnseen makes waiters look as if they were last seen longer ago.
func makeUnseen(t *testing.T, s *redisserver.Server, info string, ago time.Duration) {
	t.Helper()
	command(t, s, "EVAL", `for i, word in ipairs(redis.call('HGETALL', KEYS[1])) do
  if i % 2 == 1 and string.sub(word, 1, 1) == 'w' then
    local record = redis.call('HGET', KEYS[1], word)
    local before, seen, behind = string.match(record, '^(%a %d+ %d+ %d+ %d+ %d+ )(%d+)( .*)$')
    redis.call('HSET', KEYS[1], word, before .. string.format('%.0f', seen - ARGV[1]) .. behind)
  end
end`, "1", info, fmt.Sprint(ago.Milliseconds()))
}

// Each kind of leak is found, and its report reveals no secret. After the sweep nothing is left, and the next waiter is
// granted the lock.
func TestLeaks(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	persist := func(key string) func(*testing.T, driver.Key) {
		return func(t *testing.T, k driver.Key) { command(t, s, "PERSIST", strings.ReplaceAll(key, "NAME", k.Name)) }
	}
	held := func(t *testing.T, k driver.Key) {
		r := lasting(k.Name, time.Minute)
		r.Kind, r.Size = k.Kind, 2
		mustTake(t, e, r)
	}
	read := func(t *testing.T, k driver.Key) {
		r := lasting(k.Name, time.Minute)
		r.Mode = driver.Shared
		mustTake(t, e, r)
	}
	set := func(t *testing.T, k driver.Key) {
		latch := driver.LatchSet{Name: k.Name, ID: "1", Count: 1, TTL: time.Minute}
		if _, err := e.TrySet(t.Context(), latch); err != nil {
			t.Fatal(err)
		}
	}
	deletes := func(key string) func(*testing.T, driver.Key) {
		return func(t *testing.T, k driver.Key) { command(t, s, "DEL", strings.ReplaceAll(key, "NAME", k.Name)) }
	}
	dead := func(method string) func(*testing.T, driver.Key) {
		return func(t *testing.T, k driver.Key) { addWaiters(t, s, k.Name, 450, method, 2*time.Minute) }
	}
	for name, c := range map[string]struct {
		kind   driver.Kind
		sort   driver.LeakSort
		holder string
		count  int
		make   []func(*testing.T, driver.Key)
	}{
		"a foreign lease": {driver.Lock, driver.EndlessLease, "a client of another kind", 1,
			[]func(*testing.T, driver.Key){
				func(t *testing.T, k driver.Key) { command(t, s, "SET", "lock:"+k.Name, "topsecret") }}},
		"a lease": {driver.Lock, driver.EndlessLease, "test", 1,
			[]func(*testing.T, driver.Key){held, persist("lock:NAME")}},
		"a token": {driver.Lock, driver.EndlessToken, "", 1,
			[]func(*testing.T, driver.Key){held, persist("{lock:NAME}:token"), deletes("lock:NAME")}},
		"waiters":         {driver.Lock, driver.DeadWaiters, "", 450, []func(*testing.T, driver.Key){dead("P")}},
		"polling waiters": {driver.Lock, driver.DeadWaiters, "", 450, []func(*testing.T, driver.Key){dead("-")}},
		"waiters, endless": {driver.Lock, driver.DeadWaiters, "", 450, []func(*testing.T, driver.Key){dead("P"),
			persist("{lock:NAME}:queue"), persist("{lock:NAME}:info")}},
		"places": {driver.Lock, driver.Remains, "", 450, []func(*testing.T, driver.Key){dead("P"),
			persist("{lock:NAME}:queue"), deletes("{lock:NAME}:info")}},
		"the value of readers": {driver.Lock, driver.Remains, "", 1, []func(*testing.T, driver.Key){
			read, persist("lock:NAME"), deletes("{lock:NAME}:holders")}},
		"readers": {driver.Lock, driver.Remains, "", 1, []func(*testing.T, driver.Key){
			read, persist("{lock:NAME}:holders"), persist("{lock:NAME}:info"), deletes("lock:NAME")}},
		"records": {driver.Lock, driver.Remains, "", 1, []func(*testing.T, driver.Key){
			read, persist("{lock:NAME}:info"), deletes("lock:NAME"), deletes("{lock:NAME}:holders")}},
		"permits": {driver.Semaphore, driver.Remains, "", 1, []func(*testing.T, driver.Key){
			held, persist("{lock:NAME}:permits"), deletes("{lock:NAME}:permits-holders")}},
		"holders of permits": {driver.Semaphore, driver.Remains, "", 1, []func(*testing.T, driver.Key){
			held, persist("{lock:NAME}:permits-holders"), persist("{lock:NAME}:permits-info"),
			deletes("{lock:NAME}:permits")}},
		"a latch": {driver.Latch, driver.Remains, "", 1,
			[]func(*testing.T, driver.Key){set, persist("{lock:NAME}:latch")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := driver.Key{Kind: c.kind, Name: "leak: " + name + "!"} // part of no other name
			for _, step := range c.make {
				step(t, k)
			}
			l := onlyLeak(t, e, k.Name)
			if l.Key != k || l.Sort != c.sort || l.Holder != c.holder || l.Count != c.count || l.Server != "" ||
				(l.Token != 0) != (c.holder == "test") {
				t.Errorf("found %+v", l)
			}
			value, _ := s.Command("GET", "lock:"+k.Name)
			if text, ok := value.(string); ok && c.sort == driver.EndlessLease {
				owner, _, _ := strings.Cut(text, "\n")
				if strings.Contains(fmt.Sprintf("%+v", l), owner) {
					t.Errorf("the leak reveals the owner: %+v", l)
				}
			}
			token, _ := s.Command("GET", "{lock:"+k.Name+"}:token")
			if err := e.Sweep(t.Context(), l); err != nil {
				t.Fatalf("Sweep: %v", err)
			}
			if left := leaksOf(t, e, k.Name); len(left) > 0 {
				t.Errorf("left after the sweep: %+v", left)
			}
			if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("a second sweep: %v, want ErrNotHeld", err)
			}
			if now, _ := s.Command("GET", "{lock:"+k.Name+"}:token"); now != token {
				t.Errorf("the token was %v, and is %v", token, now)
			}
			if keys := keysWith(t, s, "string.find(key, '"+k.Name+"', 1, true) and not string.find(key, 'token') and "+
				"(ttl == -1 or not string.find(key, 'info'))"); len(keys) > 0 {
				t.Errorf("these keys are left: %q", keys)
			}
			if left := keysWith(t, s, "string.find(key, '"+k.Name+"', 1, true) and (ttl == -1 or ttl > 7 * 24 * 3600 "+
				"* 1000)"); len(left) > 0 {
				t.Errorf("these keys have no end: %q", left)
			}
		})
	}
}

// A token that is kept for longer than the retention is a leak, too. The sweep sets its end, and the token goes on
// growing.
func TestTokenThatIsKeptForTooLong(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s), redis.WithTokenRetention(time.Hour))
	first := mustTake(t, e, lasting("a", time.Minute)).Token
	if all := leaksOf(t, e, "a"); len(all) > 0 {
		t.Fatalf("found %+v", all)
	}
	command(t, s, "PEXPIRE", "{lock:a}:token", "3700000")
	command(t, s, "DEL", "lock:a")
	if err := e.Sweep(t.Context(), onlyLeak(t, e, "a")); err != nil {
		t.Fatal(err)
	}
	if ms := command(t, s, "PTTL", "{lock:a}:token").(int64); ms < 3_590_000 || ms > 3_600_000 {
		t.Errorf("the token is kept for %d ms, want an hour", ms)
	}
	if next := mustTake(t, e, lasting("a", time.Minute)).Token; next <= first {
		t.Errorf("token %d follows %d", next, first)
	}
}

// Waiters behind a lease without an end get the lock when it is swept, even if they began to wait after the leak was
// found.
func TestSweepServesWaiters(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for name, makeLeak := range map[string]func(name string){
		"foreign": func(name string) { command(t, s, "SET", "lock:"+name, "topsecret") },
		"ours": func(name string) {
			mustTake(t, e, lasting(name, time.Minute))
			command(t, s, "PERSIST", "lock:"+name)
		},
		"behind the dead": func(name string) {
			mustTake(t, e, lasting(name, time.Minute))
			command(t, s, "PERSIST", "lock:"+name)
			addWaiters(t, s, name, 3, "P", 2*time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			makeLeak(name)
			var l driver.Leak
			for _, l = range leaksOf(t, e, name) {
				if l.Sort == driver.EndlessLease {
					break
				}
			}
			r := mustJoin(t, e, lasting(name, time.Minute))
			got := startWait(t, e, r)
			if err := e.Sweep(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			swept := time.Now()
			if g := granted(t, got); g.Token <= l.Token || g.at.Sub(swept) > atOnce {
				t.Errorf("token %d follows %d, %v later", g.Token, l.Token, g.at.Sub(swept))
			}
		})
	}
}

// What has changed since it was found is not touched.
func TestSweepOfALockThatHasChangedHands(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for name, change := range map[string]func(key string, r driver.Request){
		"another holds it": func(key string, _ driver.Request) {
			command(t, s, "DEL", key)
			mustTake(t, e, lasting(key[5:], time.Minute))
		},
		"another, without an end": func(key string, _ driver.Request) { command(t, s, "SET", key, "other") },
		"another of ours, without an end": func(key string, _ driver.Request) {
			command(t, s, "DEL", key)
			mustTake(t, e, lasting(key[5:], time.Minute))
			command(t, s, "PERSIST", key)
		},
		"its holder has renewed it": func(_ string, r driver.Request) {
			renewOne(t.Context(), e, hold(r), time.Minute)
		},
		"somebody has given it an end": func(key string, _ driver.Request) {
			command(t, s, "PEXPIRE", key, "60000")
		},
		"another program has it by now": func(key string, _ driver.Request) {
			command(t, s, "DEL", key)
			command(t, s, "RPUSH", key, "a")
		},
		"a key next to it is not ours": func(key string, _ driver.Request) {
			command(t, s, "RPUSH", "{"+key+"}:queue", "a")
		},
		"its holder lets others read, too": func(_ string, r driver.Request) { e.Downgrade(t.Context(), hold(r)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := "lock:" + name
			r := lasting(name, time.Minute)
			mustTake(t, e, r)
			command(t, s, "PERSIST", key)
			l := onlyLeak(t, e, name)
			change(key, r)
			before := command(t, s, "DUMP", key)
			if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
				t.Errorf("Sweep: %v, want ErrNotHeld", err)
			}
			if after := command(t, s, "DUMP", key); after != before {
				t.Errorf("the key has been changed")
			}
		})
	}
}

// A waiter that lives is no leak, however it waits, even if the others in the queue are dead.
func TestLivingWaitersAreNoLeak(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	notified, polling := unguarded(t, standalone(s)), unguarded(t, standalone(s), redis.WithPolling())
	mustTake(t, notified, lasting("a", time.Hour/60))
	first := mustJoin(t, notified, lasting("a", time.Minute))
	got := startWait(t, notified, first)
	awaitSubscriptions(t, s, 1)
	second := mustJoin(t, polling, lasting("a", time.Minute))
	startWait(t, polling, second)
	makeUnseen(t, s, "{lock:a}:info", 2*time.Minute) // as if both had not polled for so long; the second does at once
	eventually(t, "the polling waiter has polled", func() bool {
		record := command(t, s, "HGET", "{lock:a}:info", "w"+second.Owner).(string)
		var mode, method string
		var weight, size, ttl, tokens, joined, seen int64
		fmt.Sscan(record, &mode, &weight, &size, &ttl, &tokens, &joined, &seen, &method)
		return seen >= joined
	})
	if all := leaksOf(t, notified, "a"); len(all) > 0 {
		t.Errorf("found %+v", all)
	}
	addWaiters(t, s, "a", 3, "P", 30*time.Second) // these may still be alive
	if all := leaksOf(t, notified, "a"); len(all) > 0 {
		t.Errorf("found %+v", all)
	}
	addWaiters(t, s, "a", 3, "P", 90*time.Second)
	addWaiters(t, s, "a", 2, "-", 90*time.Second)
	l := onlyLeak(t, notified, "a")
	if l.Sort != driver.DeadWaiters || l.Count != 5 {
		t.Errorf("found %+v, want five dead waiters", l)
	}
	if err := notified.Sweep(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if st := status(t, notified, first.Key); st.Waiting != 5 {
		t.Errorf("%d wait, want 5", st.Waiting)
	}
	token := status(t, notified, first.Key).Holders[0].Token
	if err := notified.ForceRelease(t.Context(), first.Key, token); err != nil {
		t.Fatal(err)
	}
	granted(t, got)
}

// A waiter of a process with a subscription is dead when the process is gone and the waiter was not seen for a minute,
// but not before.
func TestWaitersOfAProcessThatIsGone(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e, other := unguarded(t, standalone(s)), unguarded(t, standalone(s))
	mustTake(t, e, lasting("a", time.Minute))
	startWait(t, other, mustJoin(t, other, lasting("a", time.Minute)))
	awaitSubscriptions(t, s, 1)
	makeUnseen(t, s, "{lock:a}:info", 61*time.Second)
	if all := leaksOf(t, e, "a"); len(all) > 0 {
		t.Errorf("while the process is subscribed, found %+v", all)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	awaitSubscriptions(t, s, 0)
	if l := onlyLeak(t, e, "a"); l.Sort != driver.DeadWaiters || l.Count != 1 {
		t.Errorf("found %+v, want one dead waiter", l)
	}
}

// Keys of other programs are neither reported nor touched, whatever other keys there are.
func TestOtherKeysAreNoLeaks(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for _, words := range [][]string{
		{"RPUSH", "lock:list", "a"}, {"HSET", "lock:hash", "a", "b"}, {"ZADD", "lock:set", "1", "a"},
		{"SET", "{lock:hash}:token", "12"},
		{"SET", "{lock:b}:queue", "a"}, {"SET", "{lock:c}:holders", "a"}, {"SET", "{lock:d}:info", "a"},
		{"HSET", "{lock:e}:token", "a", "b"},
		{"SET", "{lock:f}:permits-queue", "a"}, {"SET", "{lock:g}:latch", "a"}, {"HSET", "{lock:h}:latch", "a", "b"},
		{"SET", "{lock:i}:token", "mine"},
		{"SET", "{lock:j}:other", "a"}, {"SET", "lock:", "a"}, {"SET", "other", "a"}, {"SET", "{other}:token", "1"},
	} {
		command(t, s, words...)
	}
	before := len(keysWith(t, s, "true"))
	all, err := findLeaks(t.Context(), e, driver.Query{})
	if err != nil || len(all) > 0 {
		t.Errorf("found %+v, %v", all, err)
	}
	if after := len(keysWith(t, s, "true")); after != before {
		t.Errorf("of %d keys, %d are left", before, after)
	}
}

func TestLeaksOfAKind(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	command(t, s, "SET", "lock:a", "foreign")
	command(t, s, "SET", "{lock:a}:permits", "foreign")
	command(t, s, "SET", "lock:b", "foreign")
	for _, c := range []struct {
		q    driver.Query
		want int
	}{{driver.Query{}, 3}, {driver.Query{Kind: driver.Semaphore}, 1}, {driver.Query{Kind: driver.Latch}, 0},
		{driver.Query{Prefix: "b"}, 1}, {driver.Query{Name: "a"}, 2},
		{driver.Query{Name: "a", Kind: driver.Lock}, 1},
		{driver.Query{After: driver.Key{Kind: driver.Latch, Name: "z"}, Limit: 1}, 3}} {
		progress := 0
		c.q.Progress = func(int) { progress++ }
		if all, err := findLeaks(t.Context(), e, c.q); err != nil || len(all) != c.want {
			t.Errorf("%+v: found %+v, %v; want %d", c.q, all, err, c.want)
		}
		if c.q.Name == "" && progress == 0 {
			t.Error("the search has not reported its progress")
		}
	}
	n := 0
	if err := e.Leaks(t.Context(), driver.Query{}, func(driver.Leak) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("a search that was to end at the first leak reported %d, %v", n, err)
	}
}

// All masters of a Cluster are searched, and what is found there can be swept.
func TestLeaksInACluster(t *testing.T) {
	t.Parallel()
	c := redisserver.ClusterForTest(t, 3, 0, redisserver.Config{})
	for name, client := range clusterClients(c) {
		t.Run(name, func(t *testing.T) {
			e := unguarded(t, client)
			const n = 30
			for i := range n {
				r := lasting(fmt.Sprint("name ", i), time.Minute)
				mustTake(t, e, r)
				owner, err := c.Owner(redisserver.Slot("lock:" + r.Name))
				if err != nil {
					t.Fatal(err)
				}
				command(t, owner, "PERSIST", "lock:"+r.Name)
				command(t, owner, "PERSIST", "{lock:"+r.Name+"}:token")
			}
			all, err := findLeaks(t.Context(), unguarded(t, client), driver.Query{})
			if err != nil || len(all) != 2*n {
				t.Fatalf("%d leaks, %v; want %d", len(all), err, 2*n)
			}
			for _, l := range all {
				if err := e.Sweep(t.Context(), l); err != nil {
					t.Errorf("Sweep of %+v: %v", l, err)
				}
			}
			if all, err := findLeaks(t.Context(), e, driver.Query{}); err != nil || len(all) > 0 {
				t.Errorf("after the sweep, found %+v, %v", all, err)
			}
		})
	}
}
