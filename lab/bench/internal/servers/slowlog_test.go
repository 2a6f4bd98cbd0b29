package servers

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// Longest reports a command from during f, and restores the server's settings, whatever f returns.
func TestLongestCommand(t *testing.T) {
	t.Parallel()
	s := redisserver.ForTest(t,
		redisserver.Config{Lines: []string{"slowlog-log-slower-than 12345", "enable-debug-command yes"}})
	r, err := OpenRedis(t.Context(), s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sleep := func(seconds string) func() error {
		return func() error {
			_, err := s.Command("DEBUG", "SLEEP", seconds)
			return err
		}
	}
	long, err := r.Longest(t.Context(), sleep("0.02"))
	if err != nil || long < 20*time.Millisecond {
		t.Errorf("a sleep of 20 ms took %v, %v", long, err)
	}
	if short, err := r.Longest(t.Context(), sleep("0")); err != nil || short >= long {
		t.Errorf("a sleep of no time took %v, %v", short, err)
	}
	failed := errors.New("failed")
	if _, err := r.Longest(t.Context(), func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want what has failed", err)
	}
	reply, err := s.Command("CONFIG", "GET", "slowlog-log-slower-than")
	if list, ok := reply.([]any); err != nil || !ok || list[1] != "12345" {
		t.Errorf("the setting is %v, %v now", reply, err)
	}
}
