package top

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold"
)

// head is what stands above the table. On a low screen only the lines that matter the most are left.
func (m *model) head() [][]cell {
	type part struct {
		rank int // lines of higher ranks go first
		line *line
	}
	parts := []part{{4, m.title()}, {1, m.status()}, {0, m.counts()}}
	if l, calm := m.health(); l != nil {
		rank := 1
		if calm {
			rank = 5
		}
		parts = append(parts, part{rank, l})
	}
	if m.page == table {
		parts = append(parts, part{3, m.order()})
	}
	room := len(parts)
	for m.height-room < room+3 && room > 1 {
		room--
	}
	for len(parts) > room {
		worst := 0
		for i := range parts {
			if parts[i].rank >= parts[worst].rank {
				worst = i
			}
		}
		parts = append(parts[:worst], parts[worst+1:]...)
	}
	var lines [][]cell
	for _, p := range parts {
		lines = append(lines, p.line.done())
	}
	return lines
}

func (m *model) title() *line {
	l := m.line().add(strong, "leasehold top").also(plain, m.opts.Engine)
	if m.opts.Kind != 0 {
		l.also(warn, "only "+m.opts.Kind.String())
	}
	if m.opts.Prefix != "" {
		l.also(warn, "only names that begin with "+m.opts.Prefix)
	}
	return l
}

// status says how fresh the picture is.
func (m *model) status() *line {
	l := m.line()
	if m.paused {
		l.also(warn, "PAUSED")
	}
	switch {
	case m.err != nil && m.picture == nil:
		l.also(bad, "no answer for "+span(m.now.Sub(m.failing))+": "+because(m.err))
	case m.err != nil:
		l.also(bad, "STALE: as of "+m.arrived.Format(time.TimeOnly)+", "+span(m.now.Sub(m.arrived))+" ago: "+because(m.err))
	case m.picture == nil:
		l.also(plain, "looking for the first time")
	case m.now.Sub(m.arrived) < 100*time.Millisecond:
		l.also(plain, "looked just now, took "+span(m.picture.took))
	default:
		l.also(plain, "looked "+span(m.now.Sub(m.arrived))+" ago, took "+span(m.picture.took))
	}
	l.also(faint, "every "+span(m.opts.Interval))
	if m.picture != nil && m.picture.view != m.view && m.partial() {
		l.also(warn, "looking again")
	}
	switch {
	case m.so.names > 0:
		l.also(faint, count(m.so.names)+" names read")
	case m.so.keys > 0:
		l.also(faint, count(m.so.keys)+" keys searched")
	}
	return l
}

// counts says what was counted, and what was not.
func (m *model) counts() *line {
	l := m.line()
	p := m.picture
	if p == nil {
		return l.add(faint, "nothing is counted yet")
	}
	as, more := plain, ""
	if m.err != nil {
		as = faint
	}
	if p.cut {
		more = "+"
	}
	l.add(as, "held "+count(p.held)+more).also(as, "waiting "+count(p.waiting)+more).also(as, "names "+count(p.names)+more)
	if m.rated {
		l.also(as, "seen: "+rate(m.grants)+" grants/s, "+rate(m.releases)+" releases/s")
	}
	if p.cut {
		l.also(warn, "more was not counted")
	}
	return l
}

// order says which rows the table has.
func (m *model) order() *line {
	l := m.line().add(faint, "by "+m.view.sort.String())
	if m.view.reversed {
		l.add(faint, ", reversed")
	}
	if m.view.filter != "" {
		l.also(strong, "filter: "+m.view.filter)
	}
	p := m.picture
	if p == nil || p.view != m.view || m.typing {
		return l
	}
	if m.view.filter != "" {
		l.also(faint, count(p.matching)+" of "+count(p.names)+" names match")
	}
	if p.matching > len(p.rows) {
		l.also(warn, "the first "+count(len(p.rows))+" of "+count(p.matching))
	}
	return l
}

// health says how the places are where locks are kept, or returns nil if that is not known. It is calm if there is nothing to look after.
func (m *model) health() (l *line, calm bool) {
	switch {
	case m.examineErr != nil && !m.work[examining].never:
		return m.line().add(bad, "the servers cannot be examined: "+because(m.examineErr)), false
	case m.examined.IsZero() || len(m.places.Places) == 0:
		return nil, true
	}
	silent, closed, failed, well := 0, 0, 0, 0
	var wrong []string
	slowest := time.Duration(-1)
	for _, p := range m.places.Places {
		switch {
		case errors.Is(p.Err, leasehold.ErrSilent):
			silent++
			wrong = append(wrong, p.Name+" is silent")
		case p.Err != nil:
			failed++
			wrong = append(wrong, p.Name+": "+because(p.Err))
		case p.Closed > 0:
			closed++
			wrong = append(wrong, p.Name+" in quarantine for "+span(p.Closed))
		default:
			well++
			slowest = max(slowest, p.RoundTrip)
		}
	}
	found := map[leasehold.Severity]int{}
	for _, f := range m.places.Findings {
		found[f.Severity]++
	}
	l = m.line().add(plain, "places "+strconv.Itoa(len(m.places.Places)))
	some := func(as style, n int, what string) {
		if n > 0 {
			l.also(as, strconv.Itoa(n)+" "+what)
		}
	}
	some(good, well, "well")
	some(bad, silent, "SILENT")
	some(bad, closed, "in QUARANTINE")
	some(bad, failed, "FAILING")
	some(bad, found[leasehold.Critical], "critical")
	some(warn, found[leasehold.Warning], "to look after")
	if len(wrong) > 0 {
		l.also(bad, strings.Join(wrong, ", "))
	}
	if slowest >= 0 {
		l.also(faint, "round trip "+span(slowest))
	}
	if len(m.places.Findings) > 0 {
		l.also(faint, "see leasehold doctor")
	}
	return l, len(wrong) == 0 && found[leasehold.Critical] == 0
}
