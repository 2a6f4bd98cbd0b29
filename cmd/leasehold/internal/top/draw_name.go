package top

import (
	"errors"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/driver"
)

func (m *model) detailHeight() int { return m.height - len(m.head()) - len(m.foot()) }

// detailBody returns the visible lines about the open name.
func (m *model) detailBody() [][]cell {
	lines := m.detailLines()
	first := max(0, min(m.scroll, len(lines)-m.detailHeight()))
	return lines[first:min(len(lines), first+max(0, m.detailHeight()))]
}

// detailLines returns all lines about the open name.
func (m *model) detailLines() [][]cell {
	lines := m.wrap(strong, m.openName.Kind.String()+" "+quote.Name(m.openName.Name), "  ")
	add := func(as style, text string) { lines = append(lines, m.wrap(as, text, "      ")...) }
	switch {
	case m.detailErr != nil && !m.detailAt.IsZero():
		add(bad, "STALE, "+formatDuration(m.now.Sub(m.detailAt))+" old: "+errorLine(m.detailErr))
	case m.detailErr != nil:
		add(bad, "no answer: "+errorLine(m.detailErr))
	case m.detail == nil:
		add(plain, "polling")
	}
	if m.detail == nil {
		return lines
	}
	s := m.detail.status
	base := plain
	if m.detailErr != nil {
		base = faint
	}
	if !m.detailAt.IsZero() {
		switch {
		case s.Latch != nil:
			add(base, "count "+formatCount(s.Latch.Count)+", forgotten in "+formatDuration(s.Latch.TTL))
		case len(s.Holders) == 0 && m.detail.closed == nil:
			add(base, "free")
		}
		if m.detail.closed != nil {
			add(bad, m.detail.closed.Error())
		}
	}
	for _, h := range s.Holders {
		left := "ttl " + formatDuration(h.TTL)
		if h.TTL < 0 {
			left = "no end"
		}
		add(base, "held by "+quote.Text(h.Holder))
		token := ", token " + strconv.FormatUint(h.Token, 10)
		held := ", held for " + formatDuration(h.Age)
		add(base, "    "+modeOrPermits(s.Kind, h.Mode, h.Weight)+token+", "+left+held)
		if p, ok := admin.ParseHolder(h.Holder); ok {
			said := "    host " + p.Host + ", process " + strconv.Itoa(p.PID) + ", program " + p.Program
			if p.User != "" {
				said += ", user " + p.User
			}
			if p.Label != "" {
				said += ", label " + p.Label
			}
			add(faint, said)
		}
	}
	if s.Waiting > 0 {
		add(warn, formatCount(s.Waiting)+" waiting, the next one first")
	}
	for i, w := range s.Queue {
		wants := modeOrPermits(s.Kind, w.Mode, w.Weight)
		add(base, padNumber(i+1)+". "+quote.Text(w.Holder)+", "+wants+", for "+formatDuration(w.Age))
	}
	if more := s.Waiting - len(s.Queue); more > 0 {
		add(faint, "    "+formatCount(more)+" more, whom the engine does not name")
	}
	for _, v := range m.detail.votes {
		add(m.describeVote(v))
	}
	return lines
}

// padNumber right-aligns a position in a queue.
func padNumber(n int) string {
	text := strconv.Itoa(n)
	return strings.Repeat(" ", max(0, 4-len(text))) + text
}

// describeVote returns what one of several nodes says of the name.
func (m *model) describeVote(v admin.Vote) (style, string) {
	as, said := plain, "free"
	switch {
	case errors.Is(v.Err, admin.ErrSilent):
		as, said = bad, "SILENT"
	case v.Err != nil:
		as, said = bad, "error: "+errorLine(v.Err)
	}
	for i, h := range v.Holders {
		if i == 0 {
			said = ""
		} else {
			said += ", and "
		}
		said += "held by " + quote.Text(h.Holder)
		if h.Token != 0 {
			said += ", token " + strconv.FormatUint(h.Token, 10)
		}
		if h.TTL >= 0 {
			said += ", ttl " + formatDuration(h.TTL)
		}
	}
	if v.Closed > 0 {
		as = bad
		if len(v.Holders) == 0 { // it is not free there: it may have forgotten leases
			said = ""
		} else {
			said += ", "
		}
		said += "grants are CLOSED for " + formatDuration(v.Closed)
	}
	return as, "node " + v.Node + ": " + said
}

// modeOrPermits returns the mode of a lock, or the number of permits.
func modeOrPermits(k driver.Kind, held driver.Mode, weight int) string {
	switch {
	case k != driver.Semaphore:
		return held.String()
	case weight == 1:
		return "1 permit"
	}
	return strconv.Itoa(weight) + " permits"
}
