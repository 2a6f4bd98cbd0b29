package redis_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis"
)

// A polling waiter is gone, and its slot was moved here from a server whose clock is ahead by an hour. Nobody waits for
// it until this server's clock is there.
func TestDeadWaiterThatCameFromAnotherClock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s), redis.WithPolling())
	held, dead := lasting("a", time.Minute), lasting("a", time.Minute)
	mustTake(t, e, held)
	dead.Join = true
	if _, err := e.Take(t.Context(), dead); !errors.Is(err, driver.ErrHeld) {
		t.Fatal(err)
	}
	command(t, s, "EVAL", `local record = redis.call('HGET', KEYS[1], ARGV[1])
local before, seen, rest = string.match(record, '^(%a %d+ %d+ %d+ %d+ %d+ )(%d+)(.*)$')
redis.call('HSET', KEYS[1], ARGV[1], before .. string.format('%.0f', seen + ARGV[2]) .. rest)`,
		"1", "{lock:a}:info", "w"+dead.Owner, strconv.FormatInt(time.Hour.Milliseconds(), 10))
	release(t, e, held)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := takeDespiteErrors(ctx, e, lasting("a", time.Minute)); err != nil {
		t.Errorf("the next waiter: %v", err)
	}
}
