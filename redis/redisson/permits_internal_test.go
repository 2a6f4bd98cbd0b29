package redisson

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A client whose clock is wrong neither loses its permits early, nor takes those of others.
func TestPermitsAndWrongClocks(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: redisserver.ForTest(t, redisserver.Config{}).Addr()})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	run := func(c call, wrong time.Duration) int64 {
		t.Helper()
		c.args[0] = time.Now().Add(wrong).UnixMilli()
		answer, err := c.run(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		if list, ok := answer.([]any); ok {
			answer = list[0]
		}
		return answer.(int64)
	}
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		name := wrong.String()
		take := func(owner string) call {
			return permitSemaphore{}.take(name, driver.Request{
				Owner: owner, Size: 1, Weight: 1, TTL: time.Minute, Tokens: 1,
			}, false, "PUBLISH")
		}
		if run(take("a"), wrong) != 1 {
			t.Fatal("a free permit was not granted")
		}
		for _, clock := range []time.Duration{0, -wrong, wrong} {
			if run(take("b"), clock) != 0 {
				t.Errorf("a permit of a clock wrong by %v was granted by one wrong by %v", wrong, clock)
			}
		}
		renewal := driver.Renewal{Hold: driver.Hold{Owner: "a"}, TTL: time.Minute}
		for _, clock := range []time.Duration{0, -wrong, wrong} {
			if run(permitSemaphore{}.renew(name, renewal, "PUBLISH"), clock) != 1 {
				t.Errorf("a permit of a clock wrong by %v was lost for one wrong by %v", wrong, clock)
			}
		}
	}
}
