package work

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/internal/needed"
)

// Others do so in the long tests: see TestWorkloadsRunAndTargetsFindTheirFigures.
func TestWorkloadsWithLocksThatLingerFindTheirFigures(t *testing.T) {
	t.Parallel()
	r := runner(t)
	for _, w := range lingering {
		checkFigures(t, r, w)
	}
}

// The workload with a million leases, with eight of them.
func TestManyLeasesBesideABusyProcess(t *testing.T) {
	t.Parallel()
	w := Million[0]
	w.Full.TTL = time.Second
	checkFigures(t, runner(t), w)
}

// checkFigures runs a workload, and runs it for longer if a busy machine has left something out.
func checkFigures(t *testing.T, r *Runner, w Workload) {
	t.Helper()
	for w, tries := tiny(w), 1; ; tries++ {
		result := mustRun(t, r, w)
		wrong := findMissing(result, w)
		violated := slices.ContainsFunc(result.Failures, func(f string) bool { return strings.Contains(f, violation) })
		if len(wrong) == 0 {
			return
		}
		if violated || tries == 3 {
			t.Fatalf("%s: %s", w.Name, strings.Join(wrong, "\n"))
		}
		w.Full.Round *= 5
	}
}

// findMissing lists what went wrong in a workload, and which figures are missing.
func findMissing(result Result, w Workload) (wrong []string) {
	wrong = append(wrong, result.Failures...)
	absent := false
	for _, left := range result.LeftOut {
		missing := strings.Contains(left, "missing")
		absent = absent || missing
		if missing && needed.Servers() {
			wrong = append(wrong, "left out: "+left)
		}
	}
	for _, l := range w.Libraries {
		if slices.ContainsFunc(result.LeftOut, func(s string) bool { return strings.HasPrefix(s, l.Name+":") }) {
			continue
		}
		if !result.Has(l.Name) {
			wrong = append(wrong, "nothing of "+l.Name)
		}
	}
	if absent {
		return wrong // a server, or Java, is not installed
	}
	of := func(target Target) bool { return target.Workload != w.Name }
	targets := slices.DeleteFunc(slices.Clone(Targets), of)
	verdicts := Judge(targets, []Result{result})
	if len(verdicts) != len(targets) {
		wrong = append(wrong, fmt.Sprintf("%d of %d targets have found their figures", len(verdicts), len(targets)))
	}
	for _, v := range verdicts {
		if math.IsNaN(float64(v.Measured)) {
			wrong = append(wrong, v.Claim+": no number")
		}
	}
	return wrong
}
