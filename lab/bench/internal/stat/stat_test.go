package stat

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values            []float64
		median, low, high Number
	}{
		"odd":  {[]float64{3, 1, 2}, 2, 1, 3},
		"even": {[]float64{4, 1, 2, 3}, 2.5, 1, 4},
		"one":  {[]float64{7}, 7, 7, 7},
	} {
		s := Summarize(c.values)
		if s.Median != c.median || s.Low != c.low || s.High != c.high {
			t.Errorf("%s: %+v", name, s)
		}
		for i, v := range c.values {
			if s.Rounds[i] != Number(v) {
				t.Errorf("%s: the rounds have lost their order: %v", name, s.Rounds)
			}
		}
	}
	if s := Summarize(nil); !math.IsNaN(float64(s.Median)) {
		t.Errorf("no rounds have the median %v", s.Median)
	}
}

func TestRatioComparesRoundsSideBySide(t *testing.T) {
	t.Parallel()
	// The machine was half as fast in the second round: the ratio is still 2.
	r := Ratio(Summarize([]float64{200, 100, 220}), Summarize([]float64{100, 50, 110}))
	if r.Median != 2 || r.Low != 2 || r.High != 2 {
		t.Errorf("%+v, want 2 in each round", r)
	}
	if r := Ratio(Summarize([]float64{1}), Summarize(nil)); !math.IsNaN(float64(r.Median)) {
		t.Errorf("a ratio to nothing is %v", r.Median)
	}
}

func TestLargestIsTakenRoundByRound(t *testing.T) {
	t.Parallel()
	l := Largest(Summarize([]float64{1, 5}), Summarize([]float64{4, 2}))
	if len(l.Rounds) != 2 || l.Rounds[0] != 4 || l.Rounds[1] != 5 {
		t.Errorf("%v, want [4 5]", l.Rounds)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 0.991: 100, 1: 100} {
		if got := Percentile(hundred, p); got != want {
			t.Errorf("percentile %v of 1 … 100 is %d, want %d", p, got, want)
		}
	}
	if got := Percentile(nil, 0.5); got != 0 {
		t.Errorf("percentile of nothing is %v", got)
	}
}

func TestFairness(t *testing.T) {
	t.Parallel()
	if most, fewest, ratio := Fairness([]int{10, 12, 11}); most != 12 || fewest != 10 || ratio != 1.2 {
		t.Errorf("%d, %d, %v; want 12, 10, 1.2", most, fewest, ratio)
	}
	if _, fewest, ratio := Fairness([]int{0, 3}); fewest != 0 || !math.IsInf(ratio, 1) {
		t.Errorf("one without a turn gives %v", ratio)
	}
}

func TestNumberSurvivesJSON(t *testing.T) {
	t.Parallel()
	for n, want := range map[Number]string{1.5: "1.5", Number(math.Inf(1)): `"+Inf"`, Number(math.Inf(-1)): `"-Inf"`,
		Number(math.NaN()): "null"} {
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		var back Number
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if string(text) != want || back != n && !(math.IsNaN(float64(n)) && math.IsNaN(float64(back))) {
			t.Errorf("%v became %s, and %v", float64(n), text, float64(back))
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values    []float64
		low, high float64
	}{
		"few rounds":  {[]float64{3, 1, 2}, 1, 3},
		"many rounds": {[]float64{8, 1, 2, 7, 3, 6, 4, 5}, 3, 6},
		"with noise":  {[]float64{10, 10, 10, 10, 10, 10, 10, 10, 1000}, 10, 10},
	} {
		if low, high := Summarize(c.values).Spread(); low != c.low || high != c.high {
			t.Errorf("%s: %v … %v, want %v … %v", name, low, high, c.low, c.high)
		}
	}
}
