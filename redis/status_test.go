package redis_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// The waiters of a name are read in parts if there are many, and each is listed once, in order.
func TestStatusOfManyWaiters(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	mustTake(t, e, lasting("a", time.Minute))
	const n = 1234
	addWaiters(t, s, "a", n, "P", 0)
	before := scriptCalls(t, s)
	st := status(t, e, lock("a").Key)
	if st.Waiting != n || len(st.Queue) != n {
		t.Fatalf("%d wait, %d are listed; want %d", st.Waiting, len(st.Queue), n)
	}
	for i, w := range st.Queue {
		if w.Holder != fmt.Sprint("waiter ", i+1) {
			t.Fatalf("waiter %d is %q", i+1, w.Holder)
		}
	}
	if took := scriptCalls(t, s) - before; took < 3 {
		t.Errorf("all were read in %d steps: too many in one", took)
	}
	// To count them, none is read.
	if page, err := e.List(t.Context(), driver.Query{}); err != nil || len(page) != 1 || page[0].Waiting != n ||
		page[0].Queue != nil {
		t.Errorf("listed %d waiters of %d entries, %v", len(page[0].Queue), len(page), err)
	}
}

// The same holds for many holders, even if the leases of many end in the same millisecond, at the end of a part.
func TestStatusOfManyHolders(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const n = 1700
	command(t, s, "EVAL", `local now = redis.call('TIME')
local ends = now[1] * 1000 + 600000
for i = 1, tonumber(ARGV[1]) do
  local tied = i > 400 and i <= 900 and 400 or i
  redis.call('ZADD', '{lock:a}:permits-holders', ends + tied, 'owner ' .. i)
  redis.call('HSET', '{lock:a}:permits-info', 'howner ' .. i, '1 ' .. (5000 - i) .. ' 1 1700000000000000\nholder ' .. i)
end
redis.call('SET', '{lock:a}:permits', 'shared\n' .. ARGV[1], 'PX', 600000)`, "0", fmt.Sprint(n))
	st := status(t, e, driver.Key{Kind: driver.Semaphore, Name: "a"})
	if len(st.Holders) != n {
		t.Fatalf("%d holders are listed, want %d", len(st.Holders), n)
	}
	if !slices.IsSortedFunc(st.Holders, func(a, b driver.Holder) int { return int(a.Token) - int(b.Token) }) {
		t.Error("the holders are not in the order of their tokens")
	}
	for i, h := range st.Holders {
		if want := fmt.Sprint("holder ", n-i); h.Holder != want || h.TTL < 9*time.Minute || h.TTL > 11*time.Minute {
			t.Fatalf("holder %d is %+v, want %q for ten minutes", i, h, want)
		}
	}
}

// addWaiters puts waiters into the queue of a lock. They were last seen this long ago.
func addWaiters(t *testing.T, s *redisserver.Server, name string, n int, method string, ago time.Duration) {
	t.Helper()
	command(t, s, "EVAL", `local now = redis.call('TIME')
now = now[1] * 1000 - ARGV[3]
local queue, info = '{lock:' .. KEYS[1] .. '}:queue', '{lock:' .. KEYS[1] .. '}:info'
local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0
for i = 1, tonumber(ARGV[1]) do
  local owner = ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. i
  redis.call('ZADD', queue, last + i, owner)
  local record = string.format('x 1 1 60000 1 %.0f %.0f %s %d %s\nwaiter %d', now, now, ARGV[2], i, 'nobody', i)
  redis.call('HSET', info, 'w' .. owner, record)
end
redis.call('PEXPIRE', queue, 60000)
redis.call('PEXPIRE', info, 60000)`, "1", name, fmt.Sprint(n), method, fmt.Sprint(ago.Milliseconds()))
}
