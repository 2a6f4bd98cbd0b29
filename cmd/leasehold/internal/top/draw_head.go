package top

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-go/leasehold/admin"
)

// head returns the lines above the table. A low screen has only the most important ones.
func (m *model) head() [][]cell {
	type part struct {
		rank int // lines of higher ranks are left out first
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
	if m.page == pageTable {
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

// status says how old the data is.
func (m *model) status() *line {
	l := m.line()
	if m.paused {
		l.also(warn, "PAUSED")
	}
	switch {
	case m.err != nil && m.snapshot == nil:
		l.also(bad, "no answer for "+formatDuration(m.now.Sub(m.failingSince))+": "+errorLine(m.err))
	case m.err != nil:
		age := formatDuration(m.now.Sub(m.snapshotAt))
		l.also(bad, "STALE: as of "+age+" ago: "+errorLine(m.err))
	case m.snapshot == nil:
		l.also(plain, "polling for the first time")
	case m.now.Sub(m.snapshotAt) < 100*time.Millisecond:
		l.also(plain, "polled just now, took "+formatDuration(m.snapshot.took))
	default:
		l.also(plain, "polled "+formatDuration(m.now.Sub(m.snapshotAt))+" ago, took "+formatDuration(m.snapshot.took))
	}
	l.also(faint, "every "+formatDuration(m.opts.Interval))
	if m.snapshot != nil && m.snapshot.view != m.view && m.isPartial() {
		l.also(warn, "polling again")
	}
	switch {
	case m.progress.names > 0:
		l.also(faint, formatCount(m.progress.names)+" names read")
	case m.progress.keys > 0:
		l.also(faint, formatCount(m.progress.keys)+" keys searched")
	}
	return l
}

// counts says what was counted, and whether that is all.
func (m *model) counts() *line {
	l := m.line()
	p := m.snapshot
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
	l.add(as, "held "+formatCount(p.held)+more)
	l.also(as, "waiting "+formatCount(p.waiting)+more)
	l.also(as, "names "+formatCount(p.names)+more)
	if m.hasRates {
		l.also(as, "seen: "+formatRate(m.grants)+" grants/s, "+formatRate(m.releases)+" releases/s")
	}
	if p.cut {
		l.also(warn, "more was not counted")
	}
	return l
}

// order says how the table is sorted and filtered.
func (m *model) order() *line {
	l := m.line().add(faint, "by "+m.view.sort.String())
	if m.view.reversed {
		l.add(faint, ", reversed")
	}
	if m.view.filter != "" {
		l.also(strong, "filter: "+m.view.filter)
	}
	p := m.snapshot
	if p == nil || p.view != m.view || m.typing {
		return l
	}
	if m.view.filter != "" {
		l.also(faint, formatCount(p.matching)+" of "+formatCount(p.names)+" names match")
	}
	if p.matching > len(p.rows) {
		l.also(warn, "the first "+formatCount(len(p.rows))+" of "+formatCount(p.matching))
	}
	return l
}

// health describes the servers, or returns nil if their state is unknown. It is calm if nothing needs attention.
func (m *model) health() (l *line, calm bool) {
	switch {
	case m.examineErr != nil && !m.requests[examineServers].unsupported:
		return m.line().add(bad, "the servers cannot be examined: "+errorLine(m.examineErr)), false
	case m.examinedAt.IsZero() || len(m.examination.Servers) == 0:
		return nil, true
	}
	silent, closed, failed, well := 0, 0, 0, 0
	var wrong []string
	slowest := time.Duration(-1)
	for _, p := range m.examination.Servers {
		switch {
		case errors.Is(p.Err, admin.ErrSilent):
			silent++
			wrong = append(wrong, p.Name+" is silent")
		case p.Err != nil:
			failed++
			wrong = append(wrong, p.Name+": "+errorLine(p.Err))
		case p.Closed > 0:
			closed++
			wrong = append(wrong, p.Name+" grants nothing for "+formatDuration(p.Closed))
		default:
			well++
			slowest = max(slowest, p.RoundTrip)
		}
	}
	found := map[admin.Severity]int{}
	for _, f := range m.examination.Findings {
		found[f.Severity]++
	}
	l = m.line().add(plain, "servers "+strconv.Itoa(len(m.examination.Servers)))
	some := func(as style, n int, what string) {
		if n > 0 {
			l.also(as, strconv.Itoa(n)+" "+what)
		}
	}
	some(good, well, "ok")
	some(bad, silent, "SILENT")
	some(bad, closed, "CLOSED")
	some(bad, failed, "FAILING")
	some(bad, found[admin.Critical], "critical")
	some(warn, found[admin.Warning], "to fix")
	if len(wrong) > 0 {
		l.also(bad, strings.Join(wrong, ", "))
	}
	if slowest >= 0 {
		l.also(faint, "round trip "+formatDuration(slowest))
	}
	if len(m.examination.Findings) > 0 {
		l.also(faint, "see leasehold doctor")
	}
	return l, len(wrong) == 0 && found[admin.Critical] == 0
}
