package work

import (
	"math"

	"github.com/leasehold-go/leasehold/bench/internal/stat"
)

// Target is a figure that is wanted.
type Target struct {
	// Workload is whose figures it looks at.
	Workload string
	// Claim says what is compared.
	Claim string
	// Bound is the most, or the least, that the figure may be.
	Bound Bound
	// Absolute: the figure has a unit, so that it does not travel from one run to another as ratios do.
	Absolute bool
	// Worst: the worst round counts, and not the median.
	Worst bool
	// Value finds the figure.
	Value func(*Finder) stat.Summary
}

// Bound is a limit on one side.
type Bound struct {
	Least bool // else: most
	Limit float64
}

func atMost(limit float64) Bound { return Bound{Limit: limit} }

func atLeast(limit float64) Bound { return Bound{Least: true, Limit: limit} }

// keeps reports whether a figure is within the bound.
func (b Bound) keeps(value float64) bool {
	if b.Least {
		return value >= b.Limit
	}
	return value <= b.Limit
}

// Finder finds the figures of one workload.
type Finder struct {
	result  Result
	missing bool
	asked   []string // libraries
}

// of returns the figure of a library.
func (f *Finder) of(library, metric string) stat.Summary {
	f.asked = append(f.asked, library)
	for _, row := range f.result.Rows {
		for _, figure := range row.Figures {
			if row.Library == library && figure.Metric == metric {
				return figure.Summary
			}
		}
	}
	f.missing = true
	return stat.Summarize(nil)
}

// judged are the libraries that the targets of a workload are about.
func judged(workload string, targets []Target) []string {
	f := &Finder{}
	for _, t := range targets {
		if t.Workload == workload {
			t.Value(f)
		}
	}
	return f.asked
}

// Verdict is what came of a target.
type Verdict struct {
	Workload string       `json:"workload"`
	Claim    string       `json:"claim"`
	Least    bool         `json:"at_least"` // else at most
	Target   float64      `json:"target"`
	Measured stat.Number  `json:"measured"`
	Over     stat.Summary `json:"over_rounds"`
	Pass     bool         `json:"pass"`
	Absolute bool         `json:"absolute"`
	Worst    bool         `json:"worst"` // what was measured is the worst round
}

// Judge compares results with targets. Targets whose figures have not been measured are left out.
func Judge(targets []Target, results []Result) []Verdict {
	var all []Verdict
	for _, t := range targets {
		for _, r := range results {
			f := &Finder{result: r}
			if r.Workload != t.Workload {
				continue
			}
			s := t.Value(f)
			if f.missing {
				continue
			}
			v := Verdict{Workload: t.Workload, Claim: t.Claim, Least: t.Bound.Least, Target: t.Bound.Limit, Measured: s.Median, Over: s, Absolute: t.Absolute, Worst: t.Worst}
			switch {
			case t.Worst && t.Bound.Least:
				v.Measured = s.Low
			case t.Worst:
				v.Measured = s.High
			}
			v.Pass = !math.IsNaN(float64(v.Measured)) && t.Bound.keeps(float64(v.Measured))
			all = append(all, v)
		}
	}
	return all
}
