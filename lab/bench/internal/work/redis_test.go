package work

import (
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
)

// violation is part of the error of a library that granted a lock twice.
const violation = "exclusion is violated"

func TestEachTargetBelongsToAWorkload(t *testing.T) {
	t.Parallel()
	var all []Workload
	for _, set := range Sets {
		all = append(all, set...)
	}
	for _, target := range Targets {
		if !slices.ContainsFunc(all, func(w Workload) bool { return w.Name == target.Workload }) {
			t.Errorf("%s: there is no workload %s", target.Claim, target.Workload)
		}
	}
}

func TestLibraryThatExcludesNobodyFails(t *testing.T) {
	t.Parallel()
	for _, w := range All {
		if !slices.Contains([]string{"crowd", "burst", "sticky", "waiters", "five-crowd", "redisson-crowd"}, w.Name) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			w := tiny(w)
			l := generous
			l.On = w.Libraries[0].On
			w.Libraries = []lib.Library{l}
			result := mustRun(t, runner(t), w)
			if result.Has("generous") || len(result.Failures) != 1 || !strings.Contains(result.Failures[0], violation) {
				t.Errorf("failures: %q, rows: %v", result.Failures, result.Rows)
			}
		})
	}
}
