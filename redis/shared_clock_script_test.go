package redis_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// cameFrom makes shared holders look as if their slot had been moved here from a server whose clock is ahead by this
// much: the value's remaining ttl was moved along, but the ends of the leases are times of the other clock.
func cameFrom(t *testing.T, s *redisserver.Server, holders string, ahead time.Duration) {
	t.Helper()
	command(t, s, "EVAL", `local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do redis.call('ZADD', KEYS[1], string.format('%.0f', all[i + 1] + ARGV[1]), all[i]) end`,
		"1", holders, strconv.FormatInt(ahead.Milliseconds(), 10))
}

// Leases of readers and of permits end on time, whatever clock their ends were written by.
func TestSharedLeasesThatCameFromAnotherClock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	const ttl = time.Minute
	for name, ahead := range map[string]time.Duration{"behind": -2 * ttl, "ahead": 2 * ttl,
		"a little behind": -3 * time.Millisecond} {
		reader, other := shared(lasting(name, ttl)), shared(lasting(name, ttl/2))
		one, second := permit(lasting(name, ttl)), permit(lasting(name, ttl))
		one.Size, second.Size = 1, 1
		for _, r := range []driver.Request{reader, other, one} {
			mustTake(t, e, r)
		}
		cameFrom(t, s, "{lock:"+name+"}:holders", ahead)
		cameFrom(t, s, "{lock:"+name+"}:permits-holders", ahead)
		for _, h := range status(t, e, reader.Key).Holders {
			if h.TTL <= 0 || h.TTL > ttl {
				t.Errorf("%s: a reader has %v left, want up to %v", name, h.TTL, ttl)
			}
		}
		if n := len(status(t, e, reader.Key).Holders); n != 2 {
			t.Errorf("%s: %d readers are listed, want 2", name, n)
		}
		if _, err := e.Take(t.Context(), lasting(name, ttl)); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("%s: a writer beside readers: %v, want ErrHeld", name, err)
		}
		if _, err := e.Take(t.Context(), second); !errors.Is(err, driver.ErrHeld) {
			t.Errorf("%s: a second permit of one: %v, want ErrHeld", name, err)
		}
		if err := renewOne(t.Context(), e, hold(other), ttl/2); err != nil {
			t.Errorf("%s: a renewal: %v", name, err)
		}
		if left := command(t, s, "PTTL", "lock:"+name); left.(int64) > ttl.Milliseconds() {
			t.Errorf("%s: the lock of readers ends in %v ms, want %v at most", name, left, ttl)
		}
		release(t, e, reader)
		release(t, e, other)
		release(t, e, one)
		mustTake(t, e, lasting(name, ttl))
	}
}
