package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// Tolerance is how much the ratios of two runs may differ, relative to the smaller one.
const Tolerance = 0.15

// Ratio is a figure that should be the same in another run.
type Ratio struct {
	Workload, Name string
	Target         bool // a target compares it
	Value          float64
}

// Pair is a ratio in two runs. NaN stands for a run without it.
type Pair struct {
	Ratio
	Other      float64
	Difference float64 // relative to the smaller one
}

// Agrees reports whether both runs have the ratio, with about the same value.
func (p Pair) Agrees() bool { return p.Difference <= Tolerance }

// Ratios returns the ratios of the targets, and the ratios of all libraries to one of them, at the
// main metric of each workload. Figures with a unit are left out, and so are libraries on another
// kind of server.
func (d *Document) Ratios() (all []Ratio) {
	for _, v := range d.Verdicts {
		if !v.Absolute {
			all = append(all, Ratio{v.Workload, v.Claim, true, float64(v.Measured)})
		}
	}
	for _, r := range d.Results {
		base, ok := mainFigure(r, r.Base)
		if !ok {
			continue
		}
		for _, row := range r.Rows {
			if f, ok := mainFigure(r, row.Library); ok && row.Library != r.Base && row.On == r.Rows[0].On {
				name := fmt.Sprintf("%s: %s to %s", r.Main, row.Library, r.Base)
				all = append(all, Ratio{r.Workload, name, false, float64(stat.Ratio(f, base).Median)})
			}
		}
	}
	return all
}

// mainFigure returns a library's main figure in a workload.
func mainFigure(r work.Result, library string) (stat.Summary, bool) {
	for _, row := range r.Rows {
		for _, f := range row.Figures {
			if row.Library == library && f.Metric == r.Main {
				return f.Summary, true
			}
		}
	}
	return stat.Summary{}, false
}

// Compare pairs the ratios of two runs: all ratios that either of them has.
func Compare(a, b *Document) (all []Pair) {
	theirs := b.Ratios()
	for _, r := range a.Ratios() {
		p := Pair{Ratio: r, Other: math.NaN()}
		i := slices.IndexFunc(theirs, func(o Ratio) bool { return o.Workload == r.Workload && o.Name == r.Name })
		if i >= 0 {
			p.Other = theirs[i].Value
			theirs = slices.Delete(theirs, i, i+1)
		}
		p.Difference = difference(p.Value, p.Other)
		all = append(all, p)
	}
	for _, r := range theirs {
		p := Pair{Ratio: r, Other: r.Value, Difference: math.Inf(1)}
		p.Value = math.NaN()
		all = append(all, p)
	}
	return all
}

// difference is infinite if a run lacks the ratio, or if one of the two is zero.
func difference(a, b float64) float64 {
	switch small, large := min(a, b), max(a, b); {
	case a == b:
		return 0
	case small > 0:
		return large/small - 1
	default:
		return math.Inf(1)
	}
}

// Agree reports whether all ratios of targets agree.
func Agree(all []Pair) bool {
	return !slices.ContainsFunc(all, func(p Pair) bool { return p.Target && !p.Agrees() })
}

// PrintPairs prints all pairs, and how many agree.
func PrintPairs(to io.Writer, all []Pair) {
	agree, targets, kept := 0, 0, 0
	fmt.Fprintln(to, "\nratios of this run and the other one; those of targets are marked with *")
	t := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  workload\tratio\tthis run\tother run\tdifference\t")
	for _, p := range all {
		mark, outcome := "", ""
		if p.Target {
			mark = " *"
			targets++
		}
		if p.Agrees() {
			agree++
			if p.Target {
				kept++
			}
		} else {
			outcome = "differs"
		}
		fmt.Fprintf(t, "  %s\t%s%s\t%s\t%s\t%s %%\t%s\n", p.Workload, p.Name, mark, Number(p.Value), Number(p.Other),
			Number(100*p.Difference), outcome)
	}
	t.Flush()
	fmt.Fprintf(to, "%d of %d ratios differ by at most %.0f %%; of those of targets, %d of %d. "+
		"Figures with a unit, and libraries on another kind of server, are not compared.\n", agree, len(
		all), 100*Tolerance, kept, targets)
}
