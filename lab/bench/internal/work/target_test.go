package work

import (
	"math"
	"slices"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

func TestJudgedLibrariesAreThoseOfTheTargets(t *testing.T) {
	t.Parallel()
	targets := []Target{
		{Workload: "w", Value: figure("a", "x")}, {Workload: "v", Value: figure("b", "x")},
		{Workload: "w", Value: func(f *Finder) stat.Summary { return stat.Ratio(f.of("c", "x"), f.of("d", "x")) }},
	}
	if got := judged("w", targets); !slices.Equal(got, []string{"a", "c", "d"}) {
		t.Errorf("%q, want a, c and d", got)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	figures := []Figure{{"speed", "/s", stat.Summarize([]float64{10, 20, 30})}}
	results := []Result{{Workload: "w", Rows: []Row{{Library: "ours", Figures: figures}}}}
	speed := func(f *Finder) stat.Summary { return f.of("ours", "speed") }
	for name, c := range map[string]struct {
		target Target
		found  bool
		pass   bool
	}{
		"at least, kept":       {Target{Workload: "w", Bound: atLeast(20), Value: speed}, true, true},
		"at least, missed":     {Target{Workload: "w", Bound: atLeast(21), Value: speed}, true, false},
		"at most, kept":        {Target{Workload: "w", Bound: atMost(20), Value: speed}, true, true},
		"at most, missed":      {Target{Workload: "w", Bound: atMost(19), Value: speed}, true, false},
		"worst, at most":       {Target{Workload: "w", Bound: atMost(20), Worst: true, Value: speed}, true, false},
		"worst, at least":      {Target{Workload: "w", Bound: atLeast(20), Worst: true, Value: speed}, true, false},
		"library did not run":  {Target{Workload: "w", Value: figure("theirs", "speed")}, false, false},
		"workload did not run": {Target{Workload: "v", Value: speed}, false, false},
		"figure is no number": {Target{Workload: "w", Bound: atMost(1),
			Value: func(*Finder) stat.Summary { return stat.Summarize(nil) }}, true, false},
	} {
		verdicts := Judge([]Target{c.target}, results)
		if found := len(verdicts) == 1; found != c.found {
			t.Errorf("%s: found %v", name, found)
		} else if found && verdicts[0].Pass != c.pass {
			t.Errorf("%s: %+v", name, verdicts[0])
		}
	}
}

// With few turns, one more turn is not unfair, and a library need not be fairer than the one that
// it is compared with.
func TestRelativeUnfairness(t *testing.T) {
	t.Parallel()
	none := math.Inf(1) // a waiter had no turn
	got := relativeUnfairness(stat.Summarize([]float64{1.2, 1.8, 2.2, 4.4, none, none, 1}),
		stat.Summarize([]float64{1, 1.05, 2, 2, none, 1, none})).Rounds
	for i, want := range []float64{1, 1.5, 1, 2, 1, none, 0} {
		if is := float64(got[i]); is != want && !(math.Abs(is-want) < 1e-9) {
			t.Errorf("round %d: %v, want %v", i, got[i], want)
		}
	}
}
