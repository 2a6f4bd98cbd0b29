package work

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/checker"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// value returns a library's value of a metric.
func value(t *testing.T, r Result, library, metric string) float64 {
	t.Helper()
	f := &Finder{result: r}
	s := f.of(library, metric)
	if f.missing {
		t.Fatalf("%s has no %q: %+v", library, metric, r)
	}
	return float64(s.Median)
}

func burstOf(l lib.Library, waiters int, d time.Duration) Workload {
	return Workload{Name: "burst", Libraries: []lib.Library{l}, Full: Plan{Rounds: 1, Round: d, Size: waiters},
		Open: openBurst}
}

func TestAllOfABurstHaveOneTurn(t *testing.T) {
	t.Parallel()
	result := mustRun(t, runner(t), burstOf(lib.Leasehold, 25, time.Minute))
	for metric, want := range map[string]float64{"waiters that had their turn": 25, "most turns": 1,
		"fewest turns": 1} {
		if got := value(t, result, "leasehold", metric); got != want {
			t.Errorf("%s: %v, want %v", metric, got, want)
		}
	}
}

// Libraries that poll every 50 to 250 ms cannot serve all waiters at once.
func TestBurstCountsThoseServedInTime(t *testing.T) {
	t.Parallel()
	result := mustRun(t, runner(t), burstOf(lib.Redsync, 25, time.Nanosecond))
	if got := value(t, result, "redsync", "waiters that had their turn"); got >= 25 {
		t.Errorf("%v of 25 had their turn", got)
	}
	if got := value(t, result, "redsync", "fewest turns"); got != 0 {
		t.Errorf("fewest turns: %v", got)
	}
}

// releaser grants every lock, and calls itself to release.
type releaser func() error

func (r releaser) Lock(context.Context, string) (lib.Held, error) { return lib.Held{Release: r}, nil }

func (releaser) Close() error { return nil }

func TestReleaseThatTheEndOfABurstCutsOffIsNoFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		over bool
		want error
	}{"at the end": {true, nil}, "before": {false, broken}} {
		ctx, cancel := context.WithCancel(t.Context())
		turns := &turns{checker: checker.New(), perWaiter: make([]atomic.Int32, 2), after: make([]time.Duration, 2),
			all: make(chan struct{})}
		err := turns.take(ctx, releaser(func() error {
			turns.over.Store(c.over)
			cancel()
			return broken
		}), "name", 0)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}
