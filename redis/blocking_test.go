package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// holdMany gives a semaphore n holders, with tokens from 1 on. The leases of some in the middle end in the same
// millisecond.
func holdMany(t *testing.T, s *redisserver.Server, name string, n int) driver.Key {
	t.Helper()
	command(t, s, "EVAL", `local now = redis.call('TIME')
local ends = now[1] * 1000 + 600000
local beside = '{lock:' .. KEYS[1] .. '}:permits'
for i = 1, tonumber(ARGV[1]) do
  redis.call('ZADD', beside .. '-holders', ends + (i > 40 and i <= 340 and 40 or i), 'owner ' .. i)
  redis.call('HSET', beside .. '-info', 'howner ' .. i, '1 ' .. i .. ' 1 1700000000000000\nholder ' .. i)
end
redis.call('SET', beside, 'shared\n' .. ARGV[1], 'PX', 600000)`, "1", name, fmt.Sprint(n))
	return driver.Key{Kind: driver.Semaphore, Name: name}
}

// Force-releasing one of many holders goes in steps, so that nobody else is kept waiting, wherever the holder stands.
func TestForceAmongManyHolders(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const n = 1200
	k := holdMany(t, s, "a", n)
	for _, token := range []uint64{1, 40, 41, 140, 141, 340, 341, 700, n} {
		if err := e.ForceRelease(t.Context(), k, token); err != nil {
			t.Errorf("token %d: %v", token, err)
		}
		if err := e.ForceRelease(t.Context(), k, token); !errors.Is(err, driver.ErrNotHeld) {
			t.Errorf("token %d again: %v, want ErrNotHeld", token, err)
		}
	}
	if st := status(t, e, k); len(st.Holders) != n-9 {
		t.Errorf("%d hold, want %d", len(st.Holders), n-9)
	}
	if value := command(t, s, "GET", "{lock:a}:permits"); value != fmt.Sprint("shared\n", n-9) {
		t.Errorf("the value is %q", value)
	}
	before := scriptCalls(t, s)
	if err := e.ForceRelease(t.Context(), k, n+1); !errors.Is(err, driver.ErrNotHeld) {
		t.Errorf("nobody's token: %v, want ErrNotHeld", err)
	}
	if took := scriptCalls(t, s) - before; took < 6 {
		t.Errorf("%d holders were searched in %d steps: too many in one", n-9, took)
	}
}

// Many dead waiters are removed in steps, and only then the lock is handed to the first that lives.
func TestSweepOfManyWaiters(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	holder := lasting("a", time.Minute)
	mustTake(t, e, holder)
	const n = 2000
	addWaiters(t, s, "a", n, "P", 2*time.Minute)
	r := mustJoin(t, e, lasting("a", time.Minute))
	got := startWait(t, e, r)
	awaitSubscriptions(t, s, 1)
	l := onlyLeak(t, e, "a")
	if l.Sort != driver.DeadWaiters || l.Count != n {
		t.Fatalf("found %+v, want %d dead waiters", l, n)
	}
	command(t, s, "DEL", "lock:a") // without a release: the sweep notifies the waiter
	before := scriptCalls(t, s)
	left := command(t, s, "ZCARD", "{lock:a}:queue").(int64) // polls of the waiter may have removed some
	if err := e.Sweep(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if took := scriptCalls(t, s) - before; int64(took) < left/200 {
		t.Errorf("%d places were removed in %d steps: too many in one", left, took)
	}
	granted(t, got)
	if st := status(t, e, holder.Key); st.Waiting != 0 || len(st.Holders) != 1 {
		t.Errorf("after it: %+v", st)
	}
}

// A sweep that is refused half-way does not say that nothing was changed.
func TestSweepThatIsCutOff(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	mustTake(t, unguarded(t, standalone(s)), lasting("a", time.Minute))
	addWaiters(t, s, "a", 450, "P", 2*time.Minute)
	sent := 0
	refuse := func(_, command string) {
		if command != "evalsha" {
			return
		}
		if sent++; sent != 3 {
			return
		}
		if _, err := s.Command("CONFIG", "SET", "min-replicas-to-write", "1"); err != nil {
			t.Error(err)
		}
	}
	l := onlyLeak(t, unguarded(t, standalone(s)), "a")
	e := unguarded(t, func(t *testing.T) goredis.UniversalClient {
		c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
		c.AddHook(requestHook{s.Addr(), refuse, func(string, string) {}})
		return closed(t, c)
	})
	if err := e.Sweep(t.Context(), l); err == nil || driver.HadNoEffect(err) || driver.IsNo(err) ||
		!strings.Contains(err.Error(), "places of the queue were removed") {
		t.Errorf("Sweep: %v, want an error that says how many were removed", err)
	}
}
