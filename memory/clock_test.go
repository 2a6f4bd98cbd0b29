package memory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/memory"
)

func TestManualClockFiresInOrder(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	clock := memory.NewManualClock(start)
	var fired []time.Duration
	at := func(d time.Duration, and func()) func() bool {
		return clock.AfterFunc(d, func() {
			fired = append(fired, clock.Now().Sub(start))
			if and != nil {
				and()
			}
		})
	}
	at(3*time.Second, nil)
	at(time.Second, func() { at(time.Second, nil) }) // armed on the way, due at 2s
	stop := at(2500*time.Millisecond, nil)
	at(5*time.Second, nil)

	if !stop() || stop() {
		t.Error("stop must report true once")
	}
	clock.Advance(4 * time.Second)
	if want := []time.Duration{1e9, 2e9, 3e9}; !slices.Equal(fired, want) {
		t.Errorf("fired at %v, want %v", fired, want)
	}
	if now := clock.Now().Sub(start); now != 4*time.Second {
		t.Errorf("the clock stands at %v, want 4s", now)
	}
}
