package work

import (
	"math"

	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
)

// Target is a limit for a figure.
type Target struct {
	// Workload is the workload whose figures it uses.
	Workload string
	// Claim says what is compared.
	Claim string
	// Bound is the limit.
	Bound Bound
	// Absolute: the figure has a unit, so it cannot be compared between runs as ratios can.
	Absolute bool
	// Worst: the worst round counts, not the median.
	Worst bool
	// Value finds the figure.
	Value func(*Finder) stat.Summary
}

// Bound is a lower or an upper limit.
type Bound struct {
	Least bool // a lower limit; otherwise an upper one
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

// judged returns the libraries that the targets of a workload mention.
func judged(workload string, targets []Target) []string {
	f := &Finder{}
	for _, t := range targets {
		if t.Workload == workload {
			t.Value(f)
		}
	}
	return f.asked
}

// Verdict is the result of a target.
type Verdict struct {
	Workload string       `json:"workload"`
	Claim    string       `json:"claim"`
	Least    bool         `json:"at_least"` // otherwise at most
	Target   float64      `json:"target"`
	Measured stat.Number  `json:"measured"`
	Over     stat.Summary `json:"over_rounds"`
	Pass     bool         `json:"pass"`
	Absolute bool         `json:"absolute"`
	Worst    bool         `json:"worst"` // the worst round was compared
}

// Judge compares results with targets. It leaves out targets whose figures were not measured.
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
			v := Verdict{Workload: t.Workload, Claim: t.Claim, Least: t.Bound.Least, Target: t.Bound.Limit,
				Measured: s.Median, Over: s, Absolute: t.Absolute, Worst: t.Worst}
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
