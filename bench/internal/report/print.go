package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/leasehold-go/leasehold/bench/internal/stat"
	"github.com/leasehold-go/leasehold/bench/internal/work"
)

// Print writes the document for people.
func (d *Document) Print(to io.Writer) {
	fmt.Fprintf(to, "%s\n%s, %d × %s, %s; %s (%s); %s, in %v\n", d.Command,
		d.Machine.System, d.Machine.Processors, d.Machine.Processor, d.Machine.Go,
		d.Server.Version, d.Server.Config, d.Began.Format(time.DateTime), d.Took.Round(time.Second))
	fmt.Fprintln(to, "\nFigures are medians of all rounds, with the range in brackets where there is one.")
	for _, l := range d.Libraries {
		fmt.Fprintf(to, "  %s, %s %s\n      %s\n", l.Name, l.Module, l.Version, l.Config)
	}
	for _, r := range d.Results {
		printResult(to, r)
	}
	printVerdicts(to, d.Verdicts)
}

// printResult writes a table: metrics down, libraries across.
func printResult(to io.Writer, r work.Result) {
	fmt.Fprintf(to, "\n%s: %s\n  %s\n", r.Workload, r.About, plan(r.Plan))
	for _, f := range r.Failures {
		fmt.Fprintf(to, "  FAILED %s\n", f)
	}
	if len(r.Rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	defer t.Flush()
	fmt.Fprint(t, "  ")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "\t%s", row.Library)
	}
	fmt.Fprintln(t)
	for i, f := range r.Rows[0].Figures {
		fmt.Fprint(t, "  ", strings.TrimSuffix(f.Metric+", "+f.Unit, ", "))
		for _, row := range r.Rows {
			fmt.Fprint(t, "\t", summary(row.Figures[i].Summary))
		}
		fmt.Fprintln(t)
	}
}

func plan(p work.Plan) string {
	text := fmt.Sprintf("%d × %v each", p.Rounds, p.Round)
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
		sign, outcome := "≤", "short"
		if v.Least {
			sign = "≥"
		}
		if v.Pass {
			outcome = "pass"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s %s\t%s\t%s\t%s\n", v.Workload, v.Claim, sign, number(v.Target), number(float64(v.Measured)), span(v.Over), outcome)
	}
}

func summary(s stat.Summary) string {
	if text := span(s); text != "" {
		return number(float64(s.Median)) + " [" + text + "]"
	}
	return number(float64(s.Median))
}

func span(s stat.Summary) string {
	if s.Low == s.High || len(s.Rounds) < 2 {
		return ""
	}
	return number(float64(s.Low)) + " … " + number(float64(s.High))
}

// number writes a number with about three digits.
func number(f float64) string {
	switch size := math.Abs(f); {
	case math.IsInf(f, 0):
		return "∞"
	case math.IsNaN(f):
		return "?"
	case size >= 10_000:
		return fmt.Sprintf("%.0fk", f/1000)
	case size >= 100 || f == math.Trunc(f):
		return fmt.Sprintf("%.0f", f)
	case size >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}
