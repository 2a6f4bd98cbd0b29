//go:build unix

package supervise

import (
	"testing"
	"time"
)

func TestTimeLeftForTheGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		plan          Plan
		grace, margin time.Duration
	}{
		{"as asked for", Plan{KillAfter: 5 * time.Second, TTL: 30 * time.Second}, 5 * time.Second,
			500 * time.Millisecond},
		{"a third of the ttl at most", Plan{KillAfter: 5 * time.Second, TTL: 3 * time.Second}, time.Second,
			300 * time.Millisecond},
		{"the shortest ttl", Plan{KillAfter: 5 * time.Second, TTL: 90 * time.Millisecond}, 30 * time.Millisecond,
			9 * time.Millisecond},
		{"kill at once", Plan{Policy: Kill, KillAfter: 5 * time.Second, TTL: 30 * time.Second}, 0,
			500 * time.Millisecond},
		{"no time at all", Plan{KillAfter: 0, TTL: 30 * time.Second}, 0, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.plan.grace() != c.grace || c.plan.margin() != c.margin {
				t.Errorf("grace %s, margin %s; want %s, %s", c.plan.grace(), c.plan.margin(), c.grace, c.margin)
			}
		})
	}
}
