package redis

import (
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A machine whose clock was never set still counts from 1970. The last token ends on the server nevertheless, also if it takes the floor as
// it is.
func TestLastTokenEndsWhateverTheClock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := config{prefix: DefaultPrefix, retention: DefaultTokenRetention}
	p := c.assemble("test", false)
	for _, clock := range []int64{1, 5, time.Hour.Microseconds(), c.retention.Microseconds() / 8, time.Now().UnixMicro()} {
		floor := strconv.FormatInt(clock, 10)
		name := "free " + floor
		command(t, s, "EVAL", p.text[takeFree], "2", name, name+":token", holding("owner", []byte(floor), 1, "text"), "1000", floor)
		name = "all " + floor
		command(t, s, "EVAL", p.text[takeAll], "2", name, name+":token", "owner\n", "1000", "1", "text\n", floor, "")
		for _, key := range []string{"free " + floor + ":token", name + ":token"} {
			if is := command(t, s, "GET", key); is != floor {
				t.Errorf("%s is %s", key, is)
			}
			if left := command(t, s, "PTTL", key); left == "-1" {
				t.Errorf("%s has no end", key)
			}
		}
	}
}
