//go:build unix

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
)

// printDiagnosis writes the places, and then the findings.
func (a *app) printDiagnosis(x leasehold.Examination, unsupported bool, s draw.Screen) error {
	if unsupported {
		_, err := fmt.Fprintln(a.out, "nothing to examine: the engine keeps locks in the memory of this process")
		return err
	}
	table := columns{out: a.out}
	table.row("PLACE", "ROLE", "VERSION", "UP", "ROUND TRIP", "CLOCK", "GRANTS")
	for _, p := range x.Places {
		table.row(quote.Name(p.Name), dash(p.Role), quote.Cell(p.Version), up(p.Uptime), trip(p.RoundTrip), clock(p), granting(p, x.Findings))
	}
	if err := table.flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, g := range grouped(x.Findings) {
		g.write(&b, s)
	}
	b.WriteString("\n" + summary(x.Findings) + "\n")
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// up is for how long a server has run.
func up(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-"
	case d >= 2*day:
		return fmt.Sprintf("%dd", d/day)
	}
	return d.Round(time.Second).String()
}

func trip(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return d.Round(10 * time.Microsecond).String()
}

func clock(p leasehold.Place) string {
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

// granting says whether a place grants leases.
func granting(p leasehold.Place, all []leasehold.Finding) string {
	switch {
	case errors.Is(p.Err, leasehold.ErrSilent):
		return "no answer"
	case p.Err != nil:
		return "error"
	case !p.Votes:
		return "no"
	case p.Closed > 0:
		return "in " + age(p.Closed)
	case slices.ContainsFunc(all, func(f leasehold.Finding) bool { return f.Place == p.Name && f.Severity == leasehold.Critical }):
		return "see below"
	}
	return "yes"
}

// alike is findings that say the same of several places.
type alike struct {
	leasehold.Finding
	places []string
}

func grouped(all []leasehold.Finding) (groups []*alike) {
	known := map[leasehold.Finding]*alike{}
	for _, f := range all {
		key := f
		key.Place = ""
		g := known[key]
		if g == nil {
			g = &alike{Finding: f}
			known[key], groups = g, append(groups, g)
		}
		if f.Place != "" {
			g.places = append(g.places, quote.Name(f.Place))
		}
	}
	return groups
}

// paints are the colours of severities.
var paints = map[leasehold.Severity]string{leasehold.Note: "\x1b[36m", leasehold.Warning: "\x1b[33m", leasehold.Critical: "\x1b[31m"}

// write writes the finding below its heading, in lines that fit on the screen.
func (g *alike) write(b *strings.Builder, s draw.Screen) {
	word := g.Severity.String()
	if s.Colors {
		word = paints[g.Severity] + word + "\x1b[0m"
	}
	b.WriteString("\n" + strings.TrimRight(strings.Join([]string{word, g.Code, strings.Join(g.places, ", ")}, "  "), " ") + "\n")
	for _, line := range append(wrapped(g.Text, s.Width-2), wrapped("Mend: "+g.Mend, s.Width-2)...) {
		b.WriteString("  " + line + "\n")
	}
}

// wrapped cuts a text into lines of so many letters, between words.
func wrapped(text string, width int) (lines []string) {
	width = max(width, 40)
	line, length := "", 0
	for word := range strings.FieldsSeq(oneLine(text)) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			lines, line, length = append(lines, line), "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}

// summary says how many findings there are.
func summary(all []leasehold.Finding) string {
	count := map[leasehold.Severity]int{}
	for _, f := range all {
		count[f.Severity]++
	}
	plural := func(n int, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	return fmt.Sprintf("%d critical, %s, %s", count[leasehold.Critical], plural(count[leasehold.Warning], "warning"), plural(count[leasehold.Note], "note"))
}
