package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/stat"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// HowToRead explains the figures.
const HowToRead = "Figures are medians of all rounds, with the middle half of the rounds in brackets, or their range " +
	"if they are fewer than eight. Libraries that no target is about run fewer rounds, which parentheses name."

// Print writes the document for people.
func (d *Document) Print(to io.Writer) {
	fmt.Fprintf(to, "%s\n%s, %d × %s, %s; %s, in %v\n", d.Command,
		d.Machine.System, d.Machine.Processors, d.Machine.Processor, d.Machine.Go, d.Began.Format(
			time.DateTime), d.Took.Round(time.Second))
	for _, p := range d.Servers {
		fmt.Fprintf(to, "%s (%s)\n", p.Version, p.Config)
	}
	fmt.Fprintln(to, "\n"+HowToRead)
	for _, l := range d.Libraries {
		fmt.Fprintf(to, "  %s, %s %s\n      %s\n", l.Name, l.Module, l.Version, l.Config)
	}
	for _, c := range lib.Clients {
		fmt.Fprintf(to, "  %s: %s\n", c.Name, c.Config)
	}
	for _, r := range d.Results {
		printResult(to, r)
	}
	for _, g := range d.Growth {
		printGrowth(to, g)
	}
	printVerdicts(to, d.Verdicts)
}

// printResult writes a table: metrics down, libraries across.
func printResult(to io.Writer, r work.Result) {
	fmt.Fprintf(to, "\n%s: %s\n  %s\n", r.Workload, r.About, Plan(r.Plan))
	for _, f := range r.Failures {
		fmt.Fprintf(to, "  FAILED %s\n", f)
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(to, "  LEFT OUT %s\n", l)
	}
	if len(r.Rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	defer t.Flush()
	fmt.Fprint(t, "  ")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "\t%s", Label(r, row))
	}
	fmt.Fprintln(t)
	for i, f := range r.Rows[0].Figures {
		fmt.Fprint(t, "  ", strings.TrimSuffix(f.Metric+", "+f.Unit, ", "))
		for _, row := range r.Rows {
			fmt.Fprint(t, "\t", Summary(row.Figures[i].Summary))
		}
		fmt.Fprintln(t)
	}
}

// Label names a library, and its kind of server if that differs from the first library's.
func Label(r work.Result, row work.Row) string {
	if row.On == r.Rows[0].On {
		return row.Library
	}
	return row.Library + " (another kind of server)"
}

// Plan describes the size of a workload.
func Plan(p work.Plan) string {
	text := fmt.Sprintf("%d rounds of %v", p.Rounds, p.Round)
	if p.Others > 0 && p.Others < p.Rounds {
		text += fmt.Sprintf(" (others %d)", p.Others)
	}
	if p.Size > 1 {
		text += fmt.Sprintf(", size %d", p.Size)
	}
	if p.TTL > 0 {
		text += fmt.Sprintf(", ttl %v", p.TTL)
	}
	return text
}

func printVerdicts(to io.Writer, verdicts []work.Verdict) {
	if len(verdicts) == 0 {
		return
	}
	fmt.Fprintln(to, "\nleasehold, against its targets")
	t := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	defer t.Flush()
	fmt.Fprintln(t, "  workload\tfigure\ttarget\tmeasured\trange\t")
	for _, v := range verdicts {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", v.Workload, v.Claim, Bound(v), Number(float64(v.Measured)),
			Rounds(v), Outcome(v))
	}
}

// Bound prints the target's limit.
func Bound(v work.Verdict) string {
	if v.Least {
		return "≥ " + Number(v.Target)
	}
	return "≤ " + Number(v.Target)
}

// Rounds prints the range of the rounds: of all rounds if the worst counts, otherwise their spread.
func Rounds(v work.Verdict) string {
	if v.Worst && v.Over.Low != v.Over.High {
		return Number(float64(v.Over.Low)) + "…" + Number(float64(v.Over.High))
	}
	return Span(v.Over)
}

// Outcome prints the result.
func Outcome(v work.Verdict) string {
	if v.Pass {
		return "pass"
	}
	return "short"
}

// Summary prints a median and its spread.
func Summary(s stat.Summary) string {
	if text := Span(s); text != "" {
		return Number(float64(s.Median)) + " [" + text + "]"
	}
	return Number(float64(s.Median))
}

// Span prints the spread, or nothing if there is none.
func Span(s stat.Summary) string {
	low, high := s.Spread()
	if low == high || math.IsNaN(low) || len(s.Rounds) < 2 {
		return ""
	}
	return Number(low) + "…" + Number(high)
}

// Number prints a number with about three digits.
func Number(f float64) string {
	switch size := math.Abs(f); {
	case math.IsInf(f, 0):
		return "∞"
	case math.IsNaN(f):
		return "?"
	case size >= 10_000 && size < 100_000:
		return fmt.Sprintf("%.1fk", f/1000)
	case size >= 100_000:
		return fmt.Sprintf("%.0fk", f/1000)
	case size >= 100 || f == math.Trunc(f):
		return fmt.Sprintf("%.0f", f)
	case size >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}
