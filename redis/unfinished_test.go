package redis_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// reader is lasting for a reader.
func reader(name string) driver.Request {
	r := lasting(name, time.Minute)
	r.Mode = driver.Shared
	return r
}

// wantAllServed fails the test unless so many hold a name and nobody waits.
func wantAllServed(t *testing.T, e *redis.Engine, k driver.Key, holders int) {
	t.Helper()
	if st := status(t, e, k); st.Waiting != 0 || len(st.Holders) != holders {
		t.Errorf("%d wait and %d hold, want 0 and %d", st.Waiting, len(st.Holders), holders)
	}
}

// If a script ends just before a dead writer, whoever waits behind that one is served all the same.
func TestReleaseGoesOnBehindADeadWriter(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for before := 18; before <= 22; before++ {
		name := fmt.Sprint(before)
		first := lasting(name, time.Minute)
		mustTake(t, e, first)
		for range before {
			startWait(t, e, mustJoin(t, e, reader(name)))
		}
		addWaiters(t, s, name, 1, "P", 0)
		startWait(t, e, mustJoin(t, e, reader(name)))
		if err := e.Release(t.Context(), driver.Release{Hold: hold(first)}); err != nil {
			t.Fatal(err)
		}
		wantAllServed(t, e, first.Key, before+1)
	}
}

// A release looks behind all dead waiters for one that must be told when a head that polls counts as gone.
func TestReleaseTellsTheSecondBehindManyDead(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	first := lasting("a", time.Minute)
	mustTake(t, e, first)
	addWaiters(t, s, "a", 1, "-", 0)
	addWaiters(t, s, "a", 100, "P", 0)
	startWait(t, e, mustJoin(t, e, lasting("a", time.Minute)))
	if err := e.Release(t.Context(), driver.Release{Hold: hold(first)}); err != nil {
		t.Fatal(err)
	}
	if st := status(t, e, first.Key); st.Waiting > 2 {
		t.Errorf("%d wait, want the head that polls and the one behind the dead", st.Waiting)
	}
}

// Whatever frees a lock, or lets others share it, serves those behind any number of dead waiters.
func TestAllHandOversGoOn(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	for name, free := range map[string]func(name string, first driver.Request, g driver.Grant) (holders int){
		"ForceRelease": func(_ string, first driver.Request, g driver.Grant) int {
			if err := e.ForceRelease(t.Context(), first.Key, g.Token); err != nil {
				t.Error(err)
			}
			return 1
		},
		"Sweep": func(name string, first driver.Request, _ driver.Grant) int {
			command(t, s, "PERSIST", "lock:"+name)
			if err := e.Sweep(t.Context(), onlyLeak(t, e, name)); err != nil {
				t.Error(err)
			}
			return 1
		},
		"Take": func(name string, first driver.Request, _ driver.Grant) int {
			head := reader(name) // polls when the lease of first has ended
			command(t, s, "DEL", "lock:"+name)
			command(t, s, "EVAL", `redis.call('ZADD', KEYS[1], 0, ARGV[1])`, "1", "{lock:"+name+"}:queue", head.Owner)
			head.Join = true
			mustTake(t, e, head)
			return 2
		},
	} {
		first := lasting(name, time.Minute)
		g := mustTake(t, e, first)
		addWaiters(t, s, name, 100, "P", 0)
		got := startWait(t, e, mustJoin(t, e, reader(name)))
		t.Run(name, func(t *testing.T) {
			wantAllServed(t, e, first.Key, free(name, first, g))
			granted(t, got)
		})
	}
}

// A queue that only the dead fill is not full if the lock is free.
func TestTakeOfAFreeLockWithAQueueOfTheDead(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	first, second, r := lasting("a", time.Minute), lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, e, first)
	for _, owner := range []driver.Request{mustJoin(t, e, second), first} { // the next take joins at once
		if err := e.Release(t.Context(), driver.Release{Hold: hold(owner)}); err != nil && !driver.IsNo(err) {
			t.Fatal(err)
		}
	}
	addWaiters(t, s, "a", 100, "P", 0)
	r.Join, r.MaxWaiters = true, 10
	mustTake(t, e, r)
	wantAllServed(t, e, r.Key, 1)
}

// endedPermits adds so many holders of one permit whose leases have ended, with tokens from 1, and one that holds.
func endedPermits(t *testing.T, s *redisserver.Server, name string, n int) {
	t.Helper()
	command(t, s, "EVAL", `local now = redis.call('TIME')[1] * 1000
local key = '{lock:' .. ARGV[1] .. '}:permits'
for i = 1, tonumber(ARGV[2]) do
  redis.call('ZADD', key .. '-holders', now - 100000 + i, 'owner' .. i)
  redis.call('HSET', key .. '-info', 'howner' .. i, '1 ' .. i .. ' 1 1700000000000000\nended')
end
redis.call('ZADD', key .. '-holders', now + 60000, 'alive')
redis.call('HSET', key .. '-info', 'halive', '1 5000 1 1700000000000000\nalive')
redis.call('SET', key, 'shared\n' .. ARGV[2] + 1, 'PXAT', now + 60000)`, "0", name, fmt.Sprint(n))
}

// permitsOf asks for permits of a semaphore that has as many as endedPermits holds.
func permitsOf(name string, weight, size int) driver.Request {
	r := lasting(name, time.Minute)
	r.Kind, r.Mode, r.Weight, r.Size = driver.Semaphore, driver.Shared, weight, size
	return r
}

// Permits whose leases have ended are free, however many they are.
func TestPermitsOfEndedLeasesAreFree(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const ended = 300

	endedPermits(t, s, "take", ended)
	mustTake(t, e, permitsOf("take", ended, ended+1))
	if _, err := e.Take(t.Context(), permitsOf("take", 1, ended+1)); !errors.Is(err, driver.ErrHeld) {
		t.Errorf("one permit too many: %v", err)
	}

	endedPermits(t, s, "release", ended)
	next := permitsOf("release", ended, ended)
	got := startWait(t, e, mustJoin(t, e, next))
	alive := hold(next)
	alive.Owner = "alive"
	if err := e.Release(t.Context(), driver.Release{Hold: alive}); err != nil {
		t.Error(err)
	}
	granted(t, got)

	endedPermits(t, s, "force", ended)
	key := permitsOf("force", 1, 1).Key
	if err := e.ForceRelease(t.Context(), key, ended); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("forced release of an ended lease: %v", err)
	}
	if err := e.ForceRelease(t.Context(), key, 5000); err != nil {
		t.Errorf("forced release behind ended leases: %v", err)
	}
}

// Any owner can be named, also while a release goes on.
func TestReleaseThatGoesOnReleasesNobodyElse(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	first, next := lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, e, first)
	addWaiters(t, s, "a", 45, "P", 0)
	next.Owner = "nobody"
	got := startWait(t, e, mustJoin(t, e, next))
	addWaiters(t, s, "a", 100, "P", time.Millisecond)
	if err := e.Release(t.Context(), driver.Release{Hold: hold(first)}); err != nil {
		t.Fatal(err)
	}
	if st := status(t, e, first.Key); len(st.Holders) != 1 {
		t.Errorf("%d hold", len(st.Holders))
	}
	granted(t, got)
}
