//go:build unix

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// printDiagnosis writes the servers, then the findings.
func (a *app) printDiagnosis(x admin.Examination, unsupported bool, s screen.Screen) error {
	if unsupported {
		_, err := fmt.Fprintln(a.out, "nothing to examine: the engine keeps locks in the memory of this process")
		return err
	}
	table := columns{out: a.out}
	table.addRow("SERVER", "ROLE", "VERSION", "UP", "ROUND TRIP", "CLOCK", "GRANTS")
	for _, p := range x.Servers {
		table.addRow(quote.Name(p.Name), orDash(p.Role), quote.Cell(p.Version), formatUptime(p.Uptime),
			formatRoundTrip(p.RoundTrip), formatClock(p), formatGranting(p, x.Findings))
	}
	if err := table.flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, g := range groupFindings(x.Findings) {
		g.write(&b, s)
	}
	b.WriteString("\n" + summary(x.Findings) + "\n")
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// formatUptime returns how long a server has been up.
func formatUptime(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-"
	case d >= 2*day:
		return fmt.Sprintf("%dd", d/day)
	}
	return d.Round(time.Second).String()
}

func formatRoundTrip(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return d.Round(10 * time.Microsecond).String()
}

func formatClock(p admin.Server) string {
	if !p.HasClock {
		return "-"
	}
	unit := 10 * time.Microsecond
	if p.Ahead.Abs() >= time.Second {
		unit = 10 * time.Millisecond
	}
	ahead := p.Ahead.Round(unit)
	if ahead > 0 {
		return "+" + ahead.String()
	}
	return ahead.String()
}

// formatGranting says whether a server grants leases.
func formatGranting(p admin.Server, all []admin.Finding) string {
	switch {
	case errors.Is(p.Err, admin.ErrSilent):
		return "no answer"
	case p.Err != nil:
		return "error"
	case !p.Votes:
		return "no"
	case p.Closed > 0:
		return "in " + formatAge(p.Closed)
	case slices.ContainsFunc(all, func(f admin.Finding) bool {
		return f.Server == p.Name && f.Severity == admin.Critical
	}):
		return "see below"
	}
	return "yes"
}

// findingGroup is a finding that several servers have in common.
type findingGroup struct {
	admin.Finding
	servers []string
}

func groupFindings(all []admin.Finding) (groups []*findingGroup) {
	known := map[admin.Finding]*findingGroup{}
	for _, f := range all {
		key := f
		key.Server = ""
		g := known[key]
		if g == nil {
			g = &findingGroup{Finding: f}
			known[key], groups = g, append(groups, g)
		}
		if f.Server != "" {
			g.servers = append(g.servers, quote.Name(f.Server))
		}
	}
	return groups
}

// minFindingWidth is the least number of letters in a line of a finding, even on a narrower screen.
const minFindingWidth = 40

// severityColors are the colours of the severities.
var severityColors = map[admin.Severity]screen.Color{
	admin.Note: screen.Cyan, admin.Warning: screen.Yellow, admin.Critical: screen.Red,
}

// write writes the finding below its heading, in lines that fit on the screen.
func (g *findingGroup) write(b *strings.Builder, s screen.Screen) {
	word := s.Colored(g.Severity.String(), severityColors[g.Severity])
	heading := strings.Join([]string{word, g.Code, strings.Join(g.servers, ", ")}, "  ")
	b.WriteString("\n" + strings.TrimRight(heading, " ") + "\n")
	width := max(s.Width-2, minFindingWidth)
	for _, line := range append(screen.Wrap(oneLine(g.Text), width), screen.Wrap(oneLine("Fix: "+g.Fix), width)...) {
		b.WriteString("  " + line + "\n")
	}
}

// summary counts the findings.
func summary(all []admin.Finding) string {
	count := map[admin.Severity]int{}
	for _, f := range all {
		count[f.Severity]++
	}
	plural := func(n int, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	return fmt.Sprintf("%d critical, %s, %s", count[admin.Critical], plural(count[admin.Warning], "warning"),
		plural(count[admin.Note], "note"))
}
