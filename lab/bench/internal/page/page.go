// Package page writes a run as a document with plots: Markdown, and SVG beside it.
package page

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/lab/bench/internal/lib"
	"github.com/leasehold-go/leasehold/lab/bench/internal/report"
	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// plots is the folder of the pictures, beside the document.
const plots = "plots"

// Write writes the document to a file, and its plots to the folder plots beside it. It removes earlier plots that are
// not part of this document. Tables of all figures, and the configuration of the libraries, go to the second file, or
// to the first one if there is no second.
func Write(d *report.Document, file, figures string) error {
	folder := filepath.Join(filepath.Dir(file), plots)
	old, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	link := ""
	if figures != "" {
		if link, err = filepath.Rel(filepath.Dir(file), figures); err != nil {
			return err
		}
	}
	text, tables, pictures := render(d, filepath.ToSlash(link))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	errs := []error{os.WriteFile(file, []byte(text), 0o644)}
	if figures != "" {
		errs = append(errs, os.WriteFile(figures, []byte(tables), 0o644))
	}
	for name, svg := range pictures {
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), []byte(svg), 0o644))
	}
	return errors.Join(errs...)
}

// render returns the document, the tables that it links to as figures, and its plots by name.
func render(d *report.Document, figures string) (text, tables string, pictures map[string]string) {
	var b, other strings.Builder
	to := &b
	if figures != "" {
		to = &other
		other.WriteString("# All figures\n\nWritten by `make bench`, with the page on performance.\n" +
			report.HowToRead + "\n")
	}
	pictures = map[string]string{}
	b.WriteString(introduction)
	run(&b, d)
	targets(&b, d.Verdicts)
	b.WriteString("\n## What was measured\n\n")
	if figures == "" {
		b.WriteString(report.HowToRead + "\n")
	} else {
		fmt.Fprintf(&b, "[All figures, with rounds and sizes](%[1]s), and "+
			"[how the libraries are configured](%[1]s#how-the-libraries-are-configured).\n", figures)
	}
	contents(&b, d)
	section := ""
	first := map[string]string{} // the first workload of each description
	for _, r := range d.Results {
		if r.Section != section {
			section = r.Section
			fmt.Fprintf(&b, "\n## On %s\n", section)
		}
		if same, ok := first[r.About]; ok {
			r.About = fmt.Sprintf("as [%[1]s](#%[1]s)", same)
		} else {
			first[r.About] = r.Workload
		}
		workload(&b, to, r, pictures)
	}
	growth(&b, to, d.Growth, pictures)
	libraries(to, d)
	return b.String(), other.String(), pictures
}

const introduction = `# Performance

Leasehold beside the bare commands of a lock (the floor) and other lock libraries, on each kind of server.
` + "`make bench`" + ` writes this page; [bench](../lab/bench/doc.go) says how it measures. The
[library without a network](performance-library.md) has a page of its own, and
[Redisson in Java](redisson.md#speed) is compared on its own page.

Run it on your own machine: only ratios travel. Clients and servers share the processors here, so a library that needs
less of them is faster.
`

func run(b *strings.Builder, d *report.Document) {
	b.WriteString("\n## The run\n\n| | |\n|---|---|\n")
	row := func(name, text string) { fmt.Fprintf(b, "| %s | %s |\n", name, cell(text)) }
	row("Command", "`"+d.Command+"`")
	row("Date",
		fmt.Sprintf("%s; it took %v", d.Began.UTC().Format("2 January 2006, 15:04 UTC"), d.Took.Round(time.Second)))
	row("Machine", fmt.Sprintf("%s, %d processors: %s", d.Machine.System, d.Machine.Processors, d.Machine.Processor))
	row("Go", d.Machine.Go)
	for _, p := range d.Servers {
		row("Server", fmt.Sprintf("%s, %s", p.Version, p.Config))
	}
}

// contents lists links to the sections.
func contents(b *strings.Builder, d *report.Document) {
	var all []string
	add := func(section string) {
		link := fmt.Sprintf("[%s](#on-%s)", section, strings.ToLower(strings.ReplaceAll(section, " ", "-")))
		if section != "" && !slices.Contains(all, link) {
			all = append(all, link)
		}
	}
	for _, r := range d.Results {
		add(r.Section)
	}
	if len(d.Growth) > 0 {
		add(curveSection)
	}
	if len(all) > 0 {
		b.WriteString("\nOn " + strings.Join(all, " · ") + ".\n")
	}
}

func targets(b *strings.Builder, verdicts []work.Verdict) {
	if len(verdicts) == 0 {
		return
	}
	b.WriteString("\n## Targets\n\nRatios are taken round by round, and their median counts. Those that are short of " +
		"their target are marked; `-check` then lets the run fail.\n\n" +
		"| Figure | Target | Measured | Rounds |\n|---|---|---|---|\n")
	for _, v := range verdicts {
		spread := report.Rounds(v)
		if spread == "" {
			spread = "–"
		}
		measured := report.Number(float64(v.Measured))
		if !v.Pass {
			measured = "**" + measured + ", " + report.Outcome(v) + "**"
		}
		fmt.Fprintf(b, "| [%s](#%s): %s | %s | %s | %s |\n", v.Workload, v.Workload, cell(v.Claim), report.Bound(v),
			measured, spread)
	}
	reasons(b, verdicts)
}

// workload writes what a workload has shown, and its table to another text, which may be the same.
func workload(b, tables *strings.Builder, r work.Result, pictures map[string]string) {
	fmt.Fprintf(b, "\n### %s\n\n%s%s", r.Workload, strings.ToUpper(r.About[:1]), r.About[1:])
	if tables == b {
		fmt.Fprintf(b, "; %s", report.Plan(r.Plan))
	}
	b.WriteString(".\n")
	for _, f := range r.Failures {
		fmt.Fprintf(b, "\n**Failed**: %s\n", f)
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(b, "\nLeft out: %s\n", l)
	}
	if len(r.Rows) == 0 {
		return
	}
	picture := func(suffix, what, svg string) {
		name := r.Workload + suffix + ".svg"
		pictures[name] = svg
		fmt.Fprintf(b, "\n![%s](%s/%s)\n", what, plots, name)
	}
	if svg, ok := bars(r); ok {
		picture("", r.Main, svg)
	}
	if svg, ok := waits(r); ok {
		picture("-waits", "percentiles of waits", svg)
	}
	if tables != b {
		fmt.Fprintf(tables, "\n## %s\n\n%s.\n", r.Workload, report.Plan(r.Plan))
	}
	table(tables, r)
}

// table prints the longer side of the figures as rows.
func table(b *strings.Builder, r work.Result) {
	var cells [][]string
	head := []string{""}
	for _, f := range r.Rows[0].Figures {
		head = append(head, named(f))
	}
	cells = append(cells, head)
	for _, row := range r.Rows {
		line := []string{report.Label(r, row)}
		for _, f := range row.Figures {
			line = append(line, report.Summary(f.Summary))
		}
		cells = append(cells, line)
	}
	if len(cells[0]) > len(cells) {
		cells = transposed(cells)
	}
	b.WriteString("\n")
	for i, line := range cells {
		for _, text := range line {
			fmt.Fprintf(b, "| %s ", cell(text))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(line)-1) + "|\n")
		}
	}
}

func transposed(cells [][]string) [][]string {
	turned := make([][]string, len(cells[0]))
	for _, line := range cells {
		for i, text := range line {
			turned[i] = append(turned[i], text)
		}
	}
	return turned
}

func libraries(b *strings.Builder, d *report.Document) {
	b.WriteString(
		"\n## How the libraries are configured\n\n| Name | Module | Configuration |\n|---|---|---|\n")
	for _, l := range d.Libraries {
		fmt.Fprintf(b, "| %s | `%s` %s | %s |\n", l.Name, l.Module, l.Version, cell(l.Config))
	}
	b.WriteString("\nTheir clients, as these rows call them:\n\n")
	for _, c := range lib.Clients {
		fmt.Fprintf(b, "- *%s*: %s\n", c.Name, c.Config)
	}
}

// cell escapes the character that would end a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
