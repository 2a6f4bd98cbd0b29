package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// A thread of Redisson, as the server sees it.
const javaThread = "0f6b5f5c-4f0c-4b2c-9f0e-2a3c1d5e7f90:61"

// wire is a server with an engine, and what tests send and see beside the engine.
type wire struct {
	*testing.T
	server *redisserver.Server
	client goredis.UniversalClient
	*redisson.Engine
}

func newWire(t *testing.T, opts ...redisson.Option) *wire {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{})
	return &wire{t, s, standalone(s)(t), open(t, standalone(s), opts...)}
}

func request(owner, name string, mode driver.Mode) driver.Request {
	return driver.Request{Key: driver.Key{Kind: driver.Lock, Name: name}, Owner: owner, Mode: mode, Size: 1, Weight: 1,
		TTL: 20 * time.Second, Tokens: 1, Holder: "host " + owner}
}

func (w *wire) mustTake(r driver.Request) driver.Grant {
	w.Helper()
	g, err := w.Take(w.Context(), r)
	if err != nil {
		w.Fatalf("Take by %s: %v", r.Owner, err)
	}
	return g
}

func (w *wire) mustBeRefused(r driver.Request) {
	w.Helper()
	if g, err := w.Take(w.Context(), r); !errors.Is(err, driver.ErrHeld) {
		w.Fatalf("Take by %s answered token %d, %v; want ErrHeld", r.Owner, g.Token, err)
	}
}

func (w *wire) mustRelease(r driver.Request) {
	w.Helper()
	if err := w.Release(w.Context(), driver.Release{Hold: holdOf(r)}); err != nil {
		w.Fatalf("Release by %s: %v", r.Owner, err)
	}
}

// do sends a command.
func (w *wire) do(args ...any) any {
	w.Helper()
	v, err := w.client.Do(w.Context(), args...).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		w.Fatalf("%v: %v", args, err)
	}
	return v
}

// keys describes all keys of the server, one in each line: what is in them, and the seconds that they last, rounded up
// to the next five, as a busy machine may look late. Owners have the names that the map gives them.
func (w *wire) keys(owners map[string]string) string {
	w.Helper()
	var rename []string
	for id, name := range owners {
		rename = append(rename, id, name)
	}
	renamed := strings.NewReplacer(rename...).Replace
	var lines []string
	for _, key := range w.client.Keys(w.Context(), "*").Val() {
		var value string
		switch kind := w.client.Type(w.Context(), key).Val(); kind {
		case "hash":
			fields := w.client.HGetAll(w.Context(), key).Val()
			var all []string
			for f, v := range fields {
				all = append(all, " "+renamed(f)+"="+v)
			}
			slices.Sort(all)
			value = strings.Join(all, "")
		case "string":
			value = " " + w.client.Get(w.Context(), key).Val()
		case "list":
			value = fmt.Sprint(" ", w.client.LRange(w.Context(), key, 0, -1).Val())
		case "zset":
			value = fmt.Sprint(" ", w.client.ZRange(w.Context(), key, 0, -1).Val())
		default:
			value = " " + kind
		}
		lasts := "for ever"
		if ttl := w.client.PTTL(w.Context(), key).Val(); ttl > 0 {
			lasts = fmt.Sprintf("%ds", (ttl+5*time.Second-1)/(5*time.Second)*5)
		}
		lines = append(lines, renamed(fmt.Sprintf("%s%s, %s", key, value, lasts)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// checkKeys checks what the server has.
func (w *wire) checkKeys(owners map[string]string, want ...string) {
	w.Helper()
	slices.Sort(want)
	if got := w.keys(owners); got != strings.Join(want, "\n") {
		w.Errorf("the server has\n\t%s\nwant\n\t%s", strings.ReplaceAll(got, "\n", "\n\t"), strings.Join(want, "\n\t"))
	}
}

// listen returns a function that checks which messages have come on a channel since the last check.
func (w *wire) listen(pattern string) (check func(want ...string)) {
	w.Helper()
	sub := w.client.PSubscribe(w.Context(), pattern)
	w.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(w.Context()); err != nil {
		w.Fatal(err)
	}
	return func(want ...string) {
		w.Helper()
		w.do("PUBLISH", strings.ReplaceAll(pattern, "*", ""), "end of check")
		var got []string
		for {
			ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
			m, err := sub.ReceiveMessage(ctx)
			cancel()
			if err != nil {
				w.Fatal(err)
			}
			if m.Payload == "end of check" {
				break
			}
			got = append(got, m.Channel+" "+m.Payload)
		}
		if !slices.Equal(got, want) {
			w.Errorf("messages %q, want %q", got, want)
		}
	}
}

// A writer, a reader and a downgrade leave the keys and messages of Redisson, and beside them the two of this package.
func TestReadWriteKeysAndMessages(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"order": "{order}", "order{7}": "order{7}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, redisson.WithLock(redisson.ReadWrite))
			messages := w.listen("redisson_rwlock:" + key)
			a, b := request("a", name, driver.Exclusive), request("b", name, driver.Shared)
			ids := map[string]string{redisson.OwnerID("a"): "A", redisson.OwnerID("b"): "B"}
			token := func(n int) string { return fmt.Sprintf("redisson_lock_token:%s %d, for ever", key, n) }

			w.mustTake(a)
			w.checkKeys(ids, name+" A:write=1 mode=write, 20s", "leasehold_holders:"+key+" A=1 host a, 20s", token(1))
			w.mustRelease(a)
			w.checkKeys(ids, token(1))
			messages("redisson_rwlock:" + key + " 1")

			b.TTL = 10 * time.Second
			a.Mode = driver.Shared
			w.mustTake(b)
			w.mustTake(a)
			w.mustTake(a) // it is repeated
			w.checkKeys(ids, name+" A=1 B=1 mode=read, 20s", key+":A:rwlock_timeout:1 1, 20s",
				key+":B:rwlock_timeout:1 1, 10s", "leasehold_holders:"+key+" A=3 host a B=2 host b, 20s", token(3))
			w.mustRelease(a)
			w.checkKeys(ids, name+" B=1 mode=read, 10s", key+":B:rwlock_timeout:1 1, 10s",
				"leasehold_holders:"+key+" B=2 host b, 20s", token(3))
			messages()
			w.mustRelease(b)
			w.checkKeys(ids, token(3))
			messages("redisson_rwlock:" + key + " 0")

			a.Mode = driver.Exclusive
			w.mustTake(a)
			if err := w.Downgrade(t.Context(), holdOf(a)); err != nil {
				t.Fatal(err)
			}
			w.checkKeys(ids, name+" A=1 mode=read, 20s", key+":A:rwlock_timeout:1 1, 20s",
				"leasehold_holders:"+key+" A=4 host a, 20s", token(4))
			messages("redisson_rwlock:" + key + " 1")
		})
	}
}

// javaReads leaves what a reader in Java leaves.
func (w *wire) javaReads(name string) {
	w.Helper()
	w.do("HSET", name, "mode", "read", javaThread, 1)
	w.do("SET", "{"+name+"}:"+javaThread+":rwlock_timeout:1", 1, "PX", 10_000)
	w.do("PEXPIRE", name, 20_000)
}

// endLease ends a reader's lease as time does.
func (w *wire) endLease(name, owner string) {
	w.Helper()
	w.do("DEL", "{"+name+"}:"+owner+":rwlock_timeout:1")
}

// A reader in Go of which a crash has left only the field excludes no writer, although another one has made the lock
// last.
func TestDeadReaderExcludesNobody(t *testing.T) {
	t.Parallel()
	w := newWire(t, redisson.WithLock(redisson.ReadWrite))
	writer := request("a", "order", driver.Exclusive)
	w.mustTake(request("dead", "order", driver.Shared))
	w.mustBeRefused(writer)
	w.endLease("order", redisson.OwnerID("dead"))
	w.mustTake(writer)
	w.checkKeys(map[string]string{redisson.OwnerID("a"): "A"}, "order A:write=1 mode=write, 20s",
		"leasehold_holders:{order} A=2 host a, 20s", "redisson_lock_token:{order} 2, for ever")
	w.mustBeRefused(request("b", "order", driver.Shared))
}

// A reader in Java excludes writers as long as the lock lasts, even if its own lease is not renewed, as by the watchdog
// of Redisson 3.52.0.
func TestReaderInJavaLastsAsLongAsTheLock(t *testing.T) {
	t.Parallel()
	w := newWire(t, redisson.WithLock(redisson.ReadWrite))
	writer, reader := request("a", "order", driver.Exclusive), request("b", "order", driver.Shared)
	w.javaReads("order")
	w.mustTake(reader)
	w.endLease("order", javaThread)
	w.endLease("order", redisson.OwnerID("b"))
	w.mustBeRefused(writer)
	w.do("DEL", "order") // its lease ends
	w.mustTake(writer)
}

// A reader that leaves takes the dead ones along, but leaves the live ones of Java.
func TestReaderLeavesAmongReadersInJava(t *testing.T) {
	t.Parallel()
	w := newWire(t, redisson.WithLock(redisson.ReadWrite))
	a, b := request("a", "order", driver.Shared), request("b", "order", driver.Shared)
	w.javaReads("order")
	w.mustTake(a)
	w.mustTake(b)
	w.endLease("order", redisson.OwnerID("b"))
	w.mustRelease(a)
	w.checkKeys(map[string]string{javaThread: "J"}, "order J=1 mode=read, 10s", "{order}:J:rwlock_timeout:1 1, 10s",
		"redisson_lock_token:{order} 2, for ever")
}

// What is noted of holders counts only as long as they hold: a program in Java may have deleted the lock.
func TestNotesOfFormerHoldersAreNotBelieved(t *testing.T) {
	t.Parallel()
	w := newWire(t, redisson.WithLock(redisson.ReadWrite))
	a, b := request("a", "order", driver.Shared), request("b", "order", driver.Shared)
	w.mustTake(a)
	w.do("DEL", "order") // forceUnlock
	w.javaReads("order")
	checkHolders := func(want ...string) {
		t.Helper()
		list, err := w.List(t.Context(), driver.Query{})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		var got []string
		for _, h := range list[0].Holders {
			got = append(got, fmt.Sprintf("%s %d %s", h.Mode, h.Token, h.Holder))
		}
		if !slices.Equal(got, want) {
			t.Errorf("holders %q, want %q", got, want)
		}
	}
	const java = "shared 0 Redisson client 0f6b5f5c-4f0c-4b2c-9f0e-2a3c1d5e7f90"
	checkHolders(java)
	if err := w.ForceRelease(t.Context(), a.Key, 1); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("ForceRelease of a former holder: %v", err)
	}
	w.mustTake(b)
	w.mustTake(request("c", "order", driver.Shared))
	checkHolders(java, "shared 2 host b", "shared 3 host c")
	messages := w.listen("redisson_rwlock:{order}")
	if err := w.ForceRelease(t.Context(), a.Key, 0); err != nil { // the holders without a token
		t.Error(err)
	}
	checkHolders("shared 2 host b", "shared 3 host c")
	messages()
}

// A key of another type is an error, and stays as it is. A lock of another type excludes.
func TestReadWriteOnForeignKeys(t *testing.T) {
	t.Parallel()
	w := newWire(t, redisson.WithLock(redisson.ReadWrite))
	w.do("SET", "text", "something")
	w.do("HSET", "lock", javaThread, 1)
	w.do("PEXPIRE", "lock", 10_000)
	w.do("HSET", "hash", "mode", "write")
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		for _, name := range []string{"text", "hash"} {
			if _, err := w.Take(t.Context(), request("a", name, mode)); !driver.IsPermanent(err) {
				t.Errorf("Take of a key that is a %s: %v", name, err)
			}
		}
		w.mustBeRefused(request("a", "lock", mode))
	}
	w.checkKeys(nil, "hash mode=write, for ever", "text something, for ever", "lock "+javaThread+"=1, 10s")
}
