package work

import (
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
)

// Redsync waits for all nodes; its fast option, and the floor, wait for a majority.
func TestWaitForANodeThatHangsIsGivenUpAndCounted(t *testing.T) {
	t.Parallel()
	for _, w := range Five {
		if w.Name != "five-stopped" && w.Name != "five-blackholed" {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			result := mustRun(t, runner(t), tiny(w))
			for _, f := range result.Failures {
				t.Fatal(f)
			}
			for library, want := range map[string]float64{"floor five": 0, "redsync five": 100,
				"redsync five fast": 0} {
				if got := value(t, result, library, "given up, of all"); got != want {
					t.Errorf("%s: %v %% given up, want %v", library, got, want)
				}
			}
			limit := float64(faultLimit / time.Microsecond)
			if got := value(t, result, "redsync five", "p50"); got < limit || got > 3*limit {
				t.Errorf("redsync waited for %v µs, and the limit is %v", got, limit)
			}
		})
	}
}

func TestFaultsNeedNodes(t *testing.T) {
	t.Parallel()
	w := Workload{Name: "five-stopped", Libraries: []lib.Library{{Name: "one", On: servers.OneRedis}},
		Full: Plan{Rounds: 1}, Open: openStopped}
	if result := mustRun(t, runner(t), w); len(result.Failures) != 1 {
		t.Errorf("failures: %q", result.Failures)
	}
}
