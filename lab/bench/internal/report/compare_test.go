package report

import (
	"math"
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/lab/bench/internal/servers"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// measured is a run in which a library was the given times as fast as the floor, and a target
// measured the given value.
func measured(times, target float64) *Document {
	speed := func(v float64) []work.Figure {
		return []work.Figure{{Metric: "speed", Unit: "/s", Summary: stat.Summarize([]float64{v})}}
	}
	return &Document{
		Results: []work.Result{{Workload: "free", Main: "speed", Base: "floor", Rows: []work.Row{
			{Library: "floor", On: servers.OneRedis, Figures: speed(100)},
			{Library: "theirs", On: servers.OneRedis, Figures: speed(100 * times)},
			{Library: "far", On: servers.OneEtcd, Figures: speed(1)},
		}}},
		Verdicts: []work.Verdict{
			{Workload: "free", Claim: "a ratio", Measured: stat.Number(target)},
			{Workload: "free", Claim: "milliseconds", Measured: stat.Number(1000 * target), Absolute: true},
		},
	}
}

func TestCompareFindsRatiosThatDiffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b   *Document
		differ []string
		agree  bool
	}{
		"the same":             {measured(2, 1), measured(2, 1), nil, true},
		"within the tolerance": {measured(2, 1), measured(2.2, 1.14), nil, true},
		"a library differs":    {measured(2, 1), measured(2.4, 1), []string{"speed: theirs to floor"}, true},
		"a target differs":     {measured(2, 1.2), measured(2, 1), []string{"a ratio"}, false},
		"the other way round":  {measured(2, 1), measured(2, 1.2), []string{"a ratio"}, false},
		"no number":            {measured(2, 1), measured(2, math.NaN()), []string{"a ratio"}, false},
		"nothing to compare":   {&Document{}, measured(2, 1), []string{"a ratio", "speed: theirs to floor"}, false},
		"nothing here":         {measured(2, 1), &Document{}, []string{"a ratio", "speed: theirs to floor"}, false},
	} {
		pairs := Compare(c.a, c.b)
		if len(pairs) != 2 {
			t.Errorf(
				"%s: %d ratios are compared, want the target's and that of the library on the same kind of server: "+
					"%+v", name, len(pairs), pairs)
		}
		var differ []string
		for _, p := range pairs {
			if !p.Agrees() {
				differ = append(differ, p.Name)
			}
		}
		if strings.Join(differ, "|") != strings.Join(c.differ, "|") || Agree(pairs) != c.agree {
			t.Errorf("%s: %q differ, and agree is %v", name, differ, Agree(pairs))
		}
	}
}

func TestPairsAreAllPrinted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	PrintPairs(&b, Compare(measured(2, 1.5), measured(2, 1)))
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"a ratio * 1.50 1 50 % differs", "speed: theirs to floor 2 2 0 %", "1 of 2 ratios",
		"of those of targets, 0 of 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, &b)
		}
	}
}
