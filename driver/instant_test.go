package driver

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSinceFollowsTheClockThatRunsAhead(t *testing.T) {
	t.Parallel()
	then := Now()
	wall := func(d time.Duration) Instant { // the wall clock was set, or ran while the monotonic one stood still
		return Instant{time: then.time.Round(0).Add(d), asleep: then.asleep}
	}
	for name, c := range map[string]struct {
		now  Instant
		want time.Duration
	}{
		"all clocks together":    {then.Add(time.Second), time.Second},
		"wall clock set forward": {wall(time.Hour), time.Hour},
		"asleep, wall clock not told": {Instant{then.time.Add(time.Second), then.asleep + time.Minute},
			time.Minute + time.Second},
		"inexact reading is no sleep": {Instant{then.time.Add(time.Second), then.asleep + 5*time.Millisecond},
			time.Second},
		"less sleep than before: no one": {Instant{then.time.Add(time.Second), then.asleep - time.Minute}, time.Second},
	} {
		if got := c.now.Since(then); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestNowFollowsVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		then := Now()
		time.Sleep(time.Hour)
		if got := Now().Since(then); got != time.Hour {
			t.Errorf("an hour of virtual time is %v", got)
		}
	})
}

func TestZeroInstantIsNotKnown(t *testing.T) {
	t.Parallel()
	if !(Instant{}).IsZero() || Now().IsZero() {
		t.Error("IsZero is wrong")
	}
}
