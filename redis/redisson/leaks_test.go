package redisson_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// The waiters of a fair lock that is free are a leak if all are dead, whatever locks the engine keeps.
func TestDeadWaitersAreSwept(t *testing.T) {
	p := newCommandTest(t)
	const queue, deadlines, channel = "redisson_lock_queue:{a}", "redisson_lock_timeout:{a}",
		"redisson_lock__channel:{a}:" + javaOwner
	future := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	p.command("RPUSH", queue, another, javaOwner)
	p.command("ZADD", deadlines, "1", another)
	p.command("ZADD", deadlines, "2", javaOwner)
	want := driver.Leak{Key: driver.Key{Kind: driver.Lock, Name: "a"}, Sort: driver.DeadWaiters, Count: 2,
		Mark: "redisson_lock_queue"}
	find := func(e *redisson.Engine, what string, wanted ...driver.Leak) {
		t.Helper()
		if found := findLeaks(t, e); !slices.Equal(found, wanted) {
			t.Errorf("%s: found %+v, want %+v", what, found, wanted)
		}
	}
	sweep := func(what string) {
		t.Helper()
		if err := p.engine.Sweep(t.Context(), want); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("%s: Sweep: %v", what, err)
		}
	}
	find(p.engine, "dead", want)
	find(open(t, standalone(p.server), redisson.WithLock(redisson.Fair)), "dead, fair", want)
	find(open(t, standalone(p.server), redisson.WithPrefix("b")), "another prefix")

	p.command("ZADD", deadlines, future, javaOwner)
	find(p.engine, "one is alive")
	sweep("one is alive")
	p.command("HSET", "leasehold_waiters:{a}", javaOwner, future+" 0 somebody")
	p.command("PEXPIRE", "leasehold_waiters:{a}", "60000")
	p.command("ZADD", deadlines, "2", javaOwner)
	find(p.engine, "one in Go is alive")
	p.command("DEL", "leasehold_waiters:{a}")
	p.command("HSET", "a", another, "1")
	p.command("PEXPIRE", "a", "60000")
	find(p.engine, "held")
	sweep("held")
	p.command("DEL", "a")

	conn, err := p.server.Dial()
	must(t, err)
	defer conn.Close()
	_, err = conn.Do("SUBSCRIBE", channel)
	must(t, err)
	find(p.engine, "one listens", want)
	sweep("one listens")
	p.expect(int64(2), "LLEN", queue)
	_, err = conn.Do("UNSUBSCRIBE", channel)
	for err == nil { // what it was notified of comes before the answer
		var answer any
		if answer, err = conn.Read(); strings.Contains(fmt.Sprint(answer), "unsubscribe") {
			break
		}
	}
	must(t, err)

	must(t, p.engine.Sweep(t.Context(), want))
	p.expect(int64(0), "EXISTS", queue, deadlines)
	sweep("swept")
	find(p.engine, "swept")
}

// What the engine stores beside the keys of Redisson is a leak if it would never expire.
func TestRemainsAreSwept(t *testing.T) {
	p := newCommandTest(t)
	e := open(t, standalone(p.server), redisson.WithPrefix("x:"), redisson.WithSemaphorePrefix("s:"))
	var want []driver.Leak
	for _, c := range []struct {
		key, name string
		kind      driver.Kind
	}{
		{"leasehold_waiters:{x:a}", "a", driver.Lock},
		{"leasehold_holders:x:{a}b", "{a}b", driver.Lock},
		{"leasehold_permits:{x:s:a}", "a", driver.Semaphore},
		{"leasehold_latch:{x:a}", "a", driver.Latch},
	} {
		p.command("HSET", c.key, "field", "value")
		mark, _, _ := strings.Cut(c.key, ":")
		want = append(want, driver.Leak{Key: driver.Key{Kind: c.kind, Name: c.name}, Sort: driver.Remains, Count: 1,
			Mark: mark})
	}
	for _, key := range []string{"leasehold_holders:{other:a}", "leasehold_permits_set:{x:s:a}", "leasehold_latch:x:a",
		"leasehold_holders:{x:expires}"} {
		p.command("HSET", key, "field", "value")
	}
	p.command("PEXPIRE", "leasehold_holders:{x:expires}", "60000")
	p.command("SET", "leasehold_holders:{x:text}", "text")
	found := findLeaks(t, e)
	if !slices.Equal(found, want) {
		t.Fatalf("found %+v, want %+v", found, want)
	}
	for _, l := range want {
		var named []driver.Leak
		must(t, e.Leaks(t.Context(), driver.Query{Name: l.Name, Kind: l.Kind}, func(l driver.Leak) bool {
			named = append(named, l)
			return true
		}))
		if !slices.Contains(named, l) {
			t.Errorf("of %v: found %+v", l.Key, named)
		}
		must(t, e.Sweep(t.Context(), l))
		if err := e.Sweep(t.Context(), l); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("Sweep of %v once more: %v", l.Key, err)
		}
	}
	if found := findLeaks(t, e); len(found) > 0 {
		t.Errorf("after all were swept: found %+v", found)
	}
	if left, _ := p.command("PTTL", "leasehold_waiters:{x:a}").(int64); left < 86_000_000 {
		t.Errorf("what was swept expires in %d ms", left)
	}
}

// Whatever programs in Go do, and although none ends what it has begun, what they leave behind expires, but for what
// Redisson keeps for ever, and last tokens.
func TestWhatIsStoredExpires(t *testing.T) {
	p := newCommandTest(t)
	const ttl = time.Minute
	for kind, lock := range lockTypes {
		e := open(t, standalone(p.server), redisson.WithLock(lock), redisson.WithPrefix(kind+"-"))
		for _, name := range []string{"a", "b"} {
			for i := range 3 {
				r := driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: fmt.Sprint(name, i),
					Weight: 1, Size: 1, TTL: ttl, Tokens: 1, Join: true, Holder: "somebody"}
				if lock == redisson.ReadWrite && name == "b" {
					r.Mode = driver.Shared
				}
				if _, err := e.Take(t.Context(), r); err != nil && !errors.Is(err, driver.ErrHeld) {
					t.Fatal(err)
				}
			}
		}
	}
	_, err := p.engine.Take(t.Context(), driver.Request{Key: driver.Key{Kind: driver.Semaphore, Name: "permits"},
		Owner: "1", Weight: 1, Size: 2, TTL: ttl, Tokens: 1})
	must(t, err)
	_, err = p.engine.TrySet(t.Context(), driver.LatchSet{Name: "latch", ID: "1", Count: 2, TTL: ttl})
	must(t, err)
	_, err = p.engine.CountDown(t.Context(), driver.LatchDown{Name: "latch", ID: "2", TTL: ttl})
	must(t, err)
	semaphore := p.engine.Semaphore("semaphore")
	must(t, semaphore.AddPermits(t.Context(), 3))
	_, err = semaphore.TryAcquire(t.Context(), 1)
	must(t, err)
	keys, _ := p.command("KEYS", "*").([]any)
	if len(keys) < 20 {
		t.Errorf("stored: %v", keys)
	}
	for _, key := range keys {
		key := fmt.Sprint(key)
		var forever bool // it has no expiry in Redisson either, or keeps the last token
		for _, begin := range []string{"redisson_lock_token:", "redisson_lock_queue:", "redisson_lock_timeout:",
			"leasehold_permits_set:", "permits", "{permits}:timeout", "semaphore"} {
			forever = forever || strings.HasPrefix(key, begin)
		}
		if left, _ := p.command("PTTL", key).(int64); forever != (left == -1) {
			t.Errorf("%s expires in %d ms", key, left)
		}
	}
}
