package work

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/internal/needed"
)

// Every workload runs with every library, and has all that the targets look at.
func TestWorkloadsRunAndTargetsFindTheirFigures(t *testing.T) {
	t.Parallel()
	for _, w := range All {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			w := tiny(w)
			result := mustRun(t, runner(t), w)
			for _, f := range result.Failures {
				t.Error(f)
			}
			for _, left := range result.LeftOut {
				if needed.Servers() && strings.Contains(left, "not installed") {
					t.Errorf("left out: %s", left)
				}
			}
			for _, l := range w.Libraries {
				if !slices.ContainsFunc(result.LeftOut, func(s string) bool { return strings.HasPrefix(s, l.Name+":") }) && !result.Has(l.Name) {
					t.Errorf("nothing of %s", l.Name)
				}
			}
			of := func(target Target) bool { return target.Workload != w.Name }
			targets := slices.DeleteFunc(slices.Clone(Targets), of)
			verdicts := Judge(targets, []Result{result})
			if len(verdicts) != len(targets) {
				t.Errorf("%d of %d targets have found their figures", len(verdicts), len(targets))
			}
			for _, v := range verdicts {
				if math.IsNaN(float64(v.Measured)) {
					t.Errorf("%s: no number", v.Claim)
				}
			}
		})
	}
}

func TestEachTargetBelongsToAWorkload(t *testing.T) {
	t.Parallel()
	for _, target := range Targets {
		if !slices.ContainsFunc(All, func(w Workload) bool { return w.Name == target.Workload }) {
			t.Errorf("%s: there is no workload %s", target.Claim, target.Workload)
		}
	}
}

func TestLibraryThatExcludesNobodyFails(t *testing.T) {
	t.Parallel()
	for _, w := range All {
		if !slices.Contains([]string{"crowd", "burst", "waiters", "five-crowd"}, w.Name) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			w := tiny(w)
			l := generous
			l.On = w.Libraries[0].On
			w.Libraries = []lib.Library{l}
			result := mustRun(t, runner(t), w)
			if result.Has("generous") || len(result.Failures) != 1 || !strings.Contains(result.Failures[0], "exclusion is violated") {
				t.Errorf("failures: %q, rows: %v", result.Failures, result.Rows)
			}
		})
	}
}
