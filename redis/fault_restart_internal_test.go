package redis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// infoServer is a server that answers INFO with a text.
type infoServer string

func (s infoServer) Info(context.Context, ...string) *redis.StringCmd {
	return redis.NewStringResult(string(s), nil)
}

// A server that was started at 10.9 s says at 11.0 s that it has been up for 1 s. The guard must not believe more than
// is certain.
func TestUptimeIsNeverTooLong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0":  0,
		"1":  0,
		"60": 59 * time.Second,
		"-7": -7 * time.Second, // the clock was set back
		"?":  -time.Second,
	} {
		info, err := askInfo(t.Context(),
			infoServer("run_id:x\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nuptime_in_seconds:"+text+"\r\n"))
		if err != nil || info.uptime != want {
			t.Errorf("uptime %q is read as %v (%v), want %v", text, info.uptime, err, want)
		}
	}
}
