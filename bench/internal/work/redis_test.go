package work

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/bench/internal/lib"
	"github.com/leasehold-go/leasehold/internal/needed"
)

// Every workload runs with every library, and has all that the targets look at. Those beside a server's own means share one, as it takes long to start.
func TestWorkloadsRunAndTargetsFindTheirFigures(t *testing.T) {
	t.Parallel()
	for _, w := range slices.Concat(Redis, Five) {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			findsItsFigures(t, runner(t), w)
		})
	}
	for _, together := range [][]Workload{Postgres, Etcd, ZooKeeper} {
		t.Run(together[0].Name, func(t *testing.T) {
			t.Parallel()
			r := runnerWithoutRedis(t)
			for _, w := range together {
				findsItsFigures(t, r, w)
			}
		})
	}
}

func findsItsFigures(t *testing.T, r *Runner, w Workload) {
	t.Helper()
	w = tiny(w)
	result := mustRun(t, r, w)
	for _, f := range result.Failures {
		t.Error(f)
	}
	for _, left := range result.LeftOut {
		if needed.Servers() && strings.Contains(left, "missing") {
			t.Errorf("left out: %s", left)
		}
	}
	leftOut := 0
	for _, l := range w.Libraries {
		if slices.ContainsFunc(result.LeftOut, func(s string) bool { return strings.HasPrefix(s, l.Name+":") }) {
			leftOut++
		} else if !result.Has(l.Name) {
			t.Errorf("%s: nothing of %s", w.Name, l.Name)
		}
	}
	if leftOut == len(w.Libraries) {
		return // none of their servers is installed
	}
	of := func(target Target) bool { return target.Workload != w.Name }
	targets := slices.DeleteFunc(slices.Clone(Targets), of)
	verdicts := Judge(targets, []Result{result})
	if len(verdicts) != len(targets) {
		t.Errorf("%s: %d of %d targets have found their figures", w.Name, len(verdicts), len(targets))
	}
	for _, v := range verdicts {
		if math.IsNaN(float64(v.Measured)) {
			t.Errorf("%s: %s: no number", w.Name, v.Claim)
		}
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
