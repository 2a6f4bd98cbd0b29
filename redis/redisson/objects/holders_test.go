package objects_test

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson/objects"
)

// Each value is a holder of its own, also if the context of another one is passed to it.
func TestContextOfAnotherValue(t *testing.T) {
	t.Parallel()
	c := newClient(t, redisserver.ForTest(t, redisserver.Config{}))
	for kind, get := range map[string]func() *objects.Lock{
		"plain":  func() *objects.Lock { return c.Lock("plain") },
		"fenced": func() *objects.Lock { return c.FencedLock("fenced") },
		"spin":   func() *objects.Lock { return c.SpinLock("spin") },
		"fair":   func() *objects.Lock { return c.FairLock("fair") },
		"write":  func() *objects.Lock { return c.ReadWriteLock("readwrite").WriteLock() },
		"read":   func() *objects.Lock { return c.ReadWriteLock("reader").ReadLock() },
	} {
		a, b := get(), get()
		must(t, a.Lock(t.Context()))
		got, err := b.TryLock(a.Context())
		if want := kind == "read"; err != nil || got != want {
			t.Errorf("%s: TryLock of another value: %v, %v, want %v", kind, got, err, want)
		}
		if got {
			must(t, b.Unlock())
		}
		if kind == "read" {
			continue
		}
		must(t, a.Unlock())
		must(t, a.Lock(t.Context()))
		inner := c.Lock("inner " + kind)
		must(t, inner.Lock(a.Context()))
		ended := inner.Context()
		must(t, a.Unlock())
		if <-ended.Done(); inner.HoldCount() != 1 {
			t.Errorf("%s: a lock ended with the context that it was locked with", kind)
		}
		must(t, inner.Unlock())
	}
	reader := c.ReadWriteLock("writer")
	must(t, reader.RLock(t.Context()))
	err := c.ReadWriteLock("writer").WriteLock().Lock(reader.Context(), objects.WaitTime(200*time.Millisecond))
	if !errors.Is(err, leasehold.ErrTimeout) {
		t.Errorf("a writer with the context of a reader: %v", err)
	}
}

// Values cost nothing once they are dropped, and need no goroutine unless they are used.
func TestManyValues(t *testing.T) { // not in parallel: it counts goroutines
	c := newClient(t, redisserver.ForTest(t, redisserver.Config{}))
	goroutines := runtime.NumGoroutine()
	all := make([]*objects.Lock, 10_000)
	for i := range all {
		all[i] = []func(string) *objects.Lock{c.Lock, c.FairLock}[i%2]("orders")
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines for %d values", n-goroutines, len(all))
	}
	for _, l := range all[:1000] {
		must(t, l.Lock(t.Context()))
		must(t, l.Unlock())
	}
	if n := objects.FairClients(c); n != 500 {
		t.Errorf("%d clients for 500 fair locks in use", n)
	}
	kept := all[1]
	clear(all)
	for objects.FairClients(c) > 1 {
		runtime.GC()
		must(t, t.Context().Err())
	}
	must(t, kept.Lock(t.Context()))
	must(t, kept.Unlock())
}

// A fair lock that is dropped while it is held counts as one of the program until its lease ends, and Close frees it.
func TestCloseFreesAFairLockThatWasDropped(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	must(t, c.FairLock("orders").Lock(t.Context()))
	ctx := func() any {
		l := c.FairLock("stock")
		must(t, l.Lock(t.Context()))
		return l.Context()
	}()
	for range 5 {
		runtime.GC()
	}
	if n := objects.FairClients(c); n != 2 {
		t.Errorf("%d clients of fair locks that are held, want 2", n)
	}
	runtime.KeepAlive(ctx)
	must(t, c.Close())
	for _, name := range []string{"orders", "stock"} {
		mustTry(t, newClient(t, s).FairLock(name), true)
	}
}

// On the server, each value is a thread of its own: a UUID, and a positive number as Java has it.
func TestEachValueIsAThread(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := newClient(t, s)
	const values = 50
	for range values {
		l := c.ReadWriteLock("orders")
		for range 2 { // once more, it is the same
			must(t, l.RLock(t.Context()))
		}
		defer func() { must(t, errors.Join(l.RUnlock(), l.RUnlock())) }()
	}
	fields, err := s.Command("HKEYS", "orders")
	must(t, err)
	threads := 0
	for _, field := range fields.([]any) {
		_, number, _ := strings.Cut(ownerIDs.FindString(field.(string)), ":")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 {
			threads++
		}
	}
	if threads != values || len(fields.([]any)) != values+1 {
		t.Errorf("%d threads hold the lock, want %d: %q", threads, values, fields)
	}
}
