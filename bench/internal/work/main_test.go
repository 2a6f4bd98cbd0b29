package work

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/bench/internal/asker"
	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/bench/internal/place"
	"github.com/leasehold-go/leasehold/internal/redisserver"
)

func TestMain(m *testing.M) {
	asker.Main(lib.All) // some tests start this program once more
	goleak.VerifyTestMain(m)
}

// runner returns a runner on a server of the test's own. Further servers are started when they are needed.
func runner(t *testing.T) *Runner {
	t.Helper()
	return runnerOn(t, redisserver.ForTest(t, redisserver.Config{}).Addr())
}

// runnerWithoutRedis is runner for workloads on other servers alone.
func runnerWithoutRedis(t *testing.T) *Runner {
	t.Helper()
	return runnerOn(t, "127.0.0.1:1")
}

func runnerOn(t *testing.T, redis string) *Runner {
	t.Helper()
	places := place.New(redis)
	t.Cleanup(func() {
		if err := places.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Runner{Places: places, Mark: "leasehold-bench-test", Log: t.Logf}
}

// tiny makes a workload as small as can be.
func tiny(w Workload) Workload {
	w.Full = Plan{Rounds: 1, Round: 50 * time.Millisecond, Size: min(w.Full.Size, 8), TTL: w.Full.TTL}
	return w
}

func mustRun(t *testing.T, r *Runner, w Workload) Result {
	t.Helper()
	result, ran, err := r.Run(t.Context(), w)
	if err != nil || !ran {
		t.Fatalf("%s ran %v: %v", w.Name, ran, err)
	}
	return result
}

// generous grants everything to everybody.
var generous = lib.Library{Name: "generous", On: place.OneRedis, Open: func(lib.At) (lib.Session, error) { return granter{}, nil }}

type granter struct{}

func (granter) Lock(context.Context, string) (lib.Held, error) {
	return lib.Held{Release: func() error { return nil }}, nil
}

func (granter) Close() error { return nil }
