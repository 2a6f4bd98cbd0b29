package servers

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func TestLongScriptsAreCounted(t *testing.T) {
	t.Parallel()
	r, err := OpenRedis(t.Context(), redisserver.ForTest(t, redisserver.Config{}).Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	quick := goredis.NewScript("return 1")
	slow := goredis.NewScript("local t = redis.call('TIME') local began = t[1] * 1000000 + t[2] repeat t = " +
		"redis.call('TIME') until t[1] * 1000000 + t[2] > began + 3000 return 1")
	for _, script := range []*goredis.Script{quick, slow} {
		if err := script.Load(t.Context(), r.client).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Scripts(t.Context(), func() error {
		for range 3 {
			if err := quick.EvalSha(t.Context(), r.client, nil).Err(); err != nil {
				return err
			}
		}
		return slow.EvalSha(t.Context(), r.client, nil).Err()
	})
	// On a busy machine the others may have been slow, too.
	if err != nil || s.Calls != 4 || s.Long < 0.25 || s.Long > 1 || s.Longest < 3*time.Millisecond ||
		s.Mean < 3*time.Millisecond/4 {
		t.Errorf("%+v, %v: want 4 calls, of which 1 or more took over a millisecond", s, err)
	}
}
