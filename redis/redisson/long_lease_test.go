package redisson_test

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/redis/redisson"
)

// A lease that another program has made longer than a duration can be is still a long one.
func TestLeaseThatIsTooLong(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	for _, fields := range [][]string{
		{"5b0ccbb2-44ac-4e0f-9b3f-1f4ee1b7b6a1:42", "1"},
		{"mode", "write", "5b0ccbb2-44ac-4e0f-9b3f-1f4ee1b7b6a1:42:write", "1"},
	} {
		_, err := s.Command(append([]string{"HSET", "orders"}, fields...)...)
		must(t, err)
		_, err = s.Command("PEXPIRE", "orders", "9000000000000000")
		must(t, err)
		lock := redisson.Fenced
		if fields[0] == "mode" {
			lock = redisson.ReadWrite
		}
		all, err := open(t, standalone(s), redisson.WithLock(lock)).List(t.Context(), driver.Query{Kind: driver.Lock})
		must(t, err)
		if len(all) != 1 || len(all[0].Holders) != 1 || all[0].Holders[0].TTL < 100*365*24*time.Hour {
			t.Errorf("listed %+v, want one holder with a very long lease", all)
		}
		_, err = s.Command("DEL", "orders")
		must(t, err)
	}
}
