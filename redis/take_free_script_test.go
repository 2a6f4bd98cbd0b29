package redis

import (
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// A machine whose clock was never set counts from 1970. The last token ends on the server nevertheless, even if the
// floor becomes the token.
func TestLastTokenEndsWhateverTheClock(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := config{prefix: DefaultPrefix, retention: DefaultTokenRetention}
	set := c.newScriptSet("test", false)
	for _, clock := range []int64{1, 5, time.Hour.Microseconds(), c.retention.Microseconds() / 8,
		time.Now().UnixMicro()} {
		floor := strconv.FormatInt(clock, 10)
		name := "free " + floor
		command(t, s, "EVAL", set.text[scriptTakeFree], "2", name, name+":token",
			lockValue("owner", []byte(floor), 1, "", "text"), "1000", floor)
		name = "all " + floor
		command(t, s, "EVAL", set.text[scriptTakeAll], "2", name, name+":token", "owner\n", "1000", "1", "text\n",
			floor, "")
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

// The last token of a clock that is ahead is kept until the server's clock is there, and for the retention after that:
// if it were forgotten sooner, the next token would be smaller.
func TestLastTokenOfAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := config{prefix: DefaultPrefix, retention: DefaultTokenRetention}
	set := c.newScriptSet("test", false)
	const ahead = 30 * 24 * time.Hour
	now := time.Now()
	far, ms := strconv.FormatInt(now.Add(ahead).UnixMicro(), 10), strconv.FormatInt(now.UnixMicro(), 10)
	free := func(name, floor string) {
		command(t, s, "EVAL", set.text[scriptTakeFree], "2", name, name+":token",
			lockValue("owner", []byte(floor), 1, "", "text"), "1000", floor)
		command(t, s, "DEL", name)
	}
	all := func(name, floor string) {
		command(t, s, "EVAL", set.text[scriptTakeAll], "2", name, name+":token", "owner\n", "1000", "1", "text\n",
			floor, "")
		command(t, s, "DEL", name)
	}
	any := func(name, floor string) {
		command(t, s, "EVAL", set.text[scriptTake], "5", name, name+":token", name+":queue", name+":holders",
			name+":info",
			"owner", "1000", "1", floor, "text", "s", "1", "9", "", "0", "", "", "0", "")
		command(t, s, "DEL", name)
	}
	raised := func(name, floor string) {
		command(t, s, "SET", name, lockValue("owner", []byte("5"), 1, "", "text"))
		command(t, s, "EVAL", set.text[scriptRaise], "2", name, name+":token", "owner", floor, floor, "1")
		command(t, s, "DEL", name)
	}
	latched := func(name, floor string) {
		command(t, s, "EVAL", set.text[scriptLatchSet], "2", name, name+":token", "attempt", "1", "1000", floor,
			"PUBLISH")
	}
	for name, takes := range map[string][]func(name, floor string){
		"free": {free}, "all": {all}, "any": {any}, "raised": {raised}, "latch": {latched},
		"free and free": {free, free}, "free and all": {free, all}, "free and any": {free, any},
	} {
		floor := far
		for _, take := range takes {
			take(name, floor)
			floor = ms // the clock is right again
		}
		if left := pttl(t, s, name+":token"); time.Duration(left)*time.Millisecond < ahead+c.retention-time.Minute {
			t.Errorf("%s: the last token is kept for %d ms, want 37 days", name, left)
		}
	}
}

// pttl is the remaining ttl of a key, in ms.
func pttl(t *testing.T, s *redisserver.Server, key string) int64 {
	t.Helper()
	left, err := strconv.ParseInt(command(t, s, "PTTL", key), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// A token that is kept because a clock was ahead is no leak.
func TestTokenOfAClockThatIsAheadIsNoLeak(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t, redisserver.Config{})
	c := config{prefix: DefaultPrefix, retention: DefaultTokenRetention}
	set := c.newScriptSet("test", false)
	far := strconv.FormatInt(time.Now().Add(30*24*time.Hour).UnixMicro(), 10)
	command(t, s, "EVAL", set.text[scriptTakeFree], "2", "a", "{a}:token",
		lockValue("owner", []byte(far), 1, "", "text"),
		"1000", far)
	for _, extra := range []int64{0, 100_000} {
		left := pttl(t, s, "{a}:token")
		command(t, s, "PEXPIRE", "{a}:token", strconv.FormatInt(left+extra, 10))
		reply, err := s.Command("EVAL", set.text[scriptLeakFind], "5", "a", "{a}:token", "{a}:queue", "{a}:holders",
			"{a}:info", "token", "", "100")
		found, isList := reply.([]any)
		if is := len(found) > 0; err != nil || !isList || is != (extra > 0) {
			t.Errorf("kept for %d ms more: found %q, %v", extra, reply, err)
		}
	}
}
