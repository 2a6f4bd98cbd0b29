package work

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold-go/leasehold/internal/redisserver"
	"github.com/leasehold-go/leasehold/lab/bench/internal/busy"
	"github.com/leasehold-go/leasehold/lab/bench/internal/contender"
	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

func TestMain(m *testing.M) {
	contender.Main(lib.All) // some tests start this program again
	busy.Main()
	goleak.VerifyTestMain(m)
}

// runner returns a runner on a server of the test's own. It starts further servers when they are
// needed.
func runner(t *testing.T) *Runner {
	t.Helper()
	return runnerOn(t, redisserver.ForTest(t, redisserver.Config{}).Addr())
}

// runnerWithoutRedis is runner for workloads that need no Redis.
func runnerWithoutRedis(t *testing.T) *Runner {
	t.Helper()
	return runnerOn(t, "127.0.0.1:1")
}

func runnerOn(t *testing.T, redis string) *Runner {
	t.Helper()
	pool := servers.New(redis)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Runner{Pool: pool, Mark: "leasehold-bench-test", Patience: 10 * time.Second, Log: t.Logf}
}

// tiny makes a workload as small as possible.
func tiny(w Workload) Workload {
	w.Full = Plan{Rounds: 1, Round: 50 * time.Millisecond, Size: min(w.Full.Size, 8), Names: min(w.Full.Names, 8),
		TTL: w.Full.TTL}
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
var generous = lib.Library{Name: "generous", On: servers.OneRedis,
	Open: func(lib.Config) (lib.Session, error) { return granter{}, nil }}

type granter struct{}

func (granter) Lock(context.Context, string) (lib.Held, error) {
	return lib.Held{Release: func() error { return nil }}, nil
}

func (granter) Close() error { return nil }
