package lateness

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What is wrong counts at once on a machine that is not late, and is tried again on one that is, but not for ever.
func TestTry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		late     time.Duration
		succeeds int // in this attempt
		calls    int
		problem  string
	}{
		{"in time", tolerable / 2, 9, 1, "wrong"},
		{"late", 2 * tolerable, 9, attempts, "wrong"},
		{"late, and right at last", 2 * tolerable, 2, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var clock atomic.Int64 // is ahead by so much
				calls := 0
				now := func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
				problem := repeat(t, now, func() string {
					calls++
					time.Sleep(interval / 2) // the meter has begun to wait
					clock.Add(int64(c.late))
					time.Sleep(10 * interval)
					if calls == c.succeeds {
						return ""
					}
					return "wrong"
				})
				if problem != c.problem || calls != c.calls {
					t.Errorf("%q after %d calls, want %q after %d", problem, calls, c.problem, c.calls)
				}
			})
		})
	}
}
