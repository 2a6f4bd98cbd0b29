package redis_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A search reports progress even while it reads names about which there is nothing to say: redlock gives up a server
// that is silent.
func TestSearchReportsProgress(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	e := unguarded(t, standalone(s))
	command(t, s, "EVAL", `local now = redis.call('TIME')
for i = 1, 1000 do
  redis.call('ZADD', '{lock:queue ' .. i .. '}:queue', 1, 'owner')
  local record = string.format('x 1 1 60000 1 %.0f %.0f P 1 nobody\nwaiter', now[1] * 1000, now[1] * 1000)
  redis.call('HSET', '{lock:queue ' .. i .. '}:info', 'wowner', record)
  redis.call('HSET', 'lock:hash ' .. i, 'a', 'b')
end`, "0")
	for what, f := range map[string]func(q driver.Query) error{
		"Walk": func(q driver.Query) error {
			q.Prefix = "hash"
			got, err := walkNames(t.Context(), e, q)
			if len(got) > 0 {
				t.Errorf("Walk reports %q", got)
			}
			return err
		},
		"Leaks": func(q driver.Query) error {
			q.Prefix = "queue"
			all, err := findLeaks(t.Context(), e, q)
			if len(all) > 0 {
				t.Errorf("Leaks reports %+v", all)
			}
			return err
		},
	} {
		last, again := -1, 0
		err := f(driver.Query{Progress: func(n int) {
			if n < last {
				t.Errorf("%s: %d searched, after %d", what, n, last)
			}
			if n == last {
				again++
			}
			last = n
		}})
		if err != nil || again < 9 {
			t.Errorf("%s: reported %d times that it goes on while 1000 names are read, %v; want 10", what, again, err)
		}
	}
}
