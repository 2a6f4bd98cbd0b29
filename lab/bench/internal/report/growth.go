package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/leasehold-go/leasehold/lab/bench/internal/work"
)

// GrowthTable returns the figures of what grows, with a heading. Where too many scripts took long, it says so.
func GrowthTable(g work.Growth) [][]string {
	cells := [][]string{{g.Axis, "turns, /s", "server, µs a turn", "a script, µs", "of them over 1 ms, %",
		"longest command, ms", "calls without an answer"}}
	for _, p := range g.Points {
		long := Number(float64(p.Long))
		if p.Short() {
			long += ", short"
		}
		cells = append(cells, []string{Number(float64(p.At)), Number(float64(p.Turns)), Number(float64(p.Server)),
			Number(float64(p.Script)), long, Number(float64(p.Longest)),
			Number(float64(p.Unanswered))})
	}
	return cells
}

func printGrowth(to io.Writer, g work.Growth) {
	fmt.Fprintf(to, "\n%s: %s\n", g.Name, g.About)
	if g.Failed != "" {
		fmt.Fprintf(to, "  FAILED %s\n", g.Failed)
	}
	if g.LeftOut != "" {
		fmt.Fprintf(to, "  LEFT OUT %s\n", g.LeftOut)
	}
	t := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	defer t.Flush()
	for _, line := range GrowthTable(g) {
		fmt.Fprintln(t, "  "+strings.Join(line, "\t"))
	}
}
