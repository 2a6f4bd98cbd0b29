package page

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// A document with a section has these lines around it.
const (
	sectionBegin = "<!-- speed: make bench-redisson -->\n"
	sectionEnd   = "<!-- end of speed -->\n"
)

// metrics are those that a section shows of a workload.
var metrics = map[string][]string{
	"redisson-pair": {"pairs of lock and release", "processor time of a pair: client",
		"processor time of a pair: server"},
	"redisson-crowd": {"hand-overs", "processor time of a turn: server", "turns in Java", work.WaitP50, work.WaitP99,
		"wait p99 in Java", "wait p99 in Go"},
}

// WriteSection writes the most important figures into the section of a document, and all figures to another file.
func WriteSection(d *report.Document, file, figures string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), sectionBegin)
	_, after, ends := strings.Cut(rest, sectionEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no lines %q and %q", file, sectionBegin, sectionEnd)
	}
	link, err := filepath.Rel(filepath.Dir(file), figures)
	if err != nil {
		return err
	}
	part, tables := section(d, filepath.ToSlash(link))
	return errors.Join(os.WriteFile(figures, []byte(tables), 0o644),
		os.WriteFile(file, []byte(before+sectionBegin+part+sectionEnd+after), 0o644))
}

// section returns the section, and the document that it links to as figures.
func section(d *report.Document, figures string) (text, tables string) {
	var b, all strings.Builder
	all.WriteString("# All figures of Redisson's locks\n\nWritten by `make bench-redisson`, with the section on " +
		"speed of the page on Redisson.\n" + report.HowToRead + "\n")
	run(&all, d)
	targets(&all, d.Verdicts)
	fmt.Fprintf(&b, "Measured on %s, with %d processors. [All figures](%s).\n",
		d.Began.UTC().Format("2 January 2006"), d.Machine.Processors, figures)
	for _, r := range d.Results {
		workload(&strings.Builder{}, &all, r, map[string]string{})
		excerpt(&b, r)
	}
	if len(d.Verdicts) > 0 {
		b.WriteString("\n| Ratio, round by round | Measured | Rounds |\n|---|---:|---|\n")
	}
	for _, v := range d.Verdicts {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(v.Claim), report.Number(float64(v.Measured)), report.Rounds(v))
	}
	libraries(&all, d)
	return b.String(), all.String()
}

// excerpt writes a table of the most important metrics: the first one with its spread.
func excerpt(b *strings.Builder, r work.Result) {
	for _, f := range r.Failures {
		fmt.Fprintf(b, "\n**Failed**: %s\n", f)
	}
	if len(r.Rows) == 0 {
		return
	}
	columns := slices.DeleteFunc(slices.Clone(r.Rows[0].Figures), func(f work.Figure) bool {
		return !slices.Contains(metrics[r.Workload], f.Metric)
	})
	fmt.Fprintf(b, "\n| %s |", report.Plan(r.Plan))
	for _, f := range columns {
		fmt.Fprintf(b, " %s |", cell(named(f)))
	}
	b.WriteString("\n|---" + strings.Repeat("|---:", len(columns)) + "|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(b, "| %s |", cell(report.Label(r, row)))
		for i, f := range row.Figures {
			switch text := report.Summary(f.Summary); {
			case !slices.Contains(metrics[r.Workload], f.Metric):
			case text == "?": // a language that takes no part
				b.WriteString(" – |")
			case i == 0:
				fmt.Fprintf(b, " %s |", text)
			default:
				median, _, _ := strings.Cut(text, " ")
				fmt.Fprintf(b, " %s |", median)
			}
		}
		b.WriteString("\n")
	}
}
