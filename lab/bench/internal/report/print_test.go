package report

import (
	"math"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", 1.151: "1.15", 12.34: "12.3", 123.4: "123", 7: "7", 4096: "4096",
		45_678: "45.7k", 456_789: "457k", -2.5: "-2.50", math.Inf(1): "∞", math.NaN(): "?",
	} {
		if got := Number(f); got != want {
			t.Errorf("%v is written as %q, want %q", f, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for want, rounds := range map[string][]float64{"2 [1…3]": {1, 3, 2}, "1": {1, 1}, "?": {math.NaN(), math.NaN()}} {
		if got := Summary(stat.Summarize(rounds)); got != want {
			t.Errorf("%v is written as %q, want %q", rounds, got, want)
		}
	}
}

func TestPrintShowsFiguresFailuresAndVerdicts(t *testing.T) {
	t.Parallel()
	speed := stat.Summarize([]float64{10, 30, 20})
	d := Document{
		Results: []work.Result{{
			Workload: "free", Plan: work.Plan{Rounds: 3, Size: 64},
			Rows: []work.Row{{Library: "ours",
				Figures: []work.Figure{{Metric: "speed", Unit: "/s", Summary: speed}}}},
			Failures: []string{"free/theirs: two held it"},
		}},
		Verdicts: []work.Verdict{
			{Workload: "free", Claim: "longest", Target: 50, Measured: 9,
				Over: stat.Summarize([]float64{1, 1, 1, 1, 1, 1, 1, 1, 9}), Worst: true, Pass: true},
			{Workload: "free", Claim: "speed", Least: true, Target: 20, Measured: 20, Over: speed, Pass: true},
			{Workload: "free", Claim: "slowness", Target: 19, Measured: 20, Over: speed},
		},
	}
	var b strings.Builder
	d.Print(&b)
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"speed, /s 20 [10…30]", "FAILED free/theirs: two held it", "size 64",
		"speed ≥ 20 20 10…30 pass", "slowness ≤ 19 20 10…30 short", "longest ≤ 50 9 1…9 pass",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}
