package top

import (
	"errors"
	"strconv"
	"strings"

	"github.com/leasehold-go/leasehold"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/quote"
	"github.com/leasehold-go/leasehold/driver"
)

func (m *model) detailHeight() int { return m.height - len(m.head()) - len(m.foot()) }

// detailBody is what is to be seen of one name.
func (m *model) detailBody() [][]cell {
	lines := m.detailLines()
	first := max(0, min(m.scroll, len(lines)-m.detailHeight()))
	return lines[first:min(len(lines), first+max(0, m.detailHeight()))]
}

// detailLines is all that is known of one name.
func (m *model) detailLines() [][]cell {
	lines := m.wrap(strong, m.shown.Kind.String()+" "+quote.Name(m.shown.Name), "  ")
	add := func(as style, text string) { lines = append(lines, m.wrap(as, text, "      ")...) }
	switch {
	case m.openErr != nil && !m.opened.IsZero():
		add(bad, "STALE, "+span(m.now.Sub(m.opened))+" old: "+because(m.openErr))
	case m.openErr != nil:
		add(bad, "no answer: "+because(m.openErr))
	case m.detail == nil:
		add(plain, "looking")
	}
	if m.detail == nil {
		return lines
	}
	s := m.detail.status
	base := plain
	if m.openErr != nil {
		base = faint
	}
	if !m.opened.IsZero() {
		switch {
		case s.Latch != nil:
			add(base, "count "+count(s.Latch.Count)+", forgotten in "+span(s.Latch.TTL))
		case len(s.Holders) == 0:
			add(base, "free")
		}
	}
	for _, h := range s.Holders {
		left := "ttl " + span(h.TTL)
		if h.TTL < 0 {
			left = "no end"
		}
		add(base, "held by "+quote.Text(h.Holder))
		add(base, "    "+mode(s.Kind, h.Mode, h.Weight)+", token "+strconv.FormatUint(h.Token, 10)+", "+left+", held for "+span(h.Age))
		if p, ok := leasehold.ParseHolder(h.Holder); ok {
			said := "    host " + p.Host + ", process " + strconv.Itoa(p.PID) + ", program " + p.Program
			if p.Label != "" {
				said += ", label " + p.Label
			}
			add(faint, said)
		}
	}
	if s.Waiting > 0 {
		add(warn, count(s.Waiting)+" waiting, the next one first")
	}
	for i, w := range s.Queue {
		add(base, pad(i+1)+". "+quote.Text(w.Holder)+", "+mode(s.Kind, w.Mode, w.Weight)+", for "+span(w.Age))
	}
	if more := s.Waiting - len(s.Queue); more > 0 {
		add(faint, "    "+count(more)+" more, whom the engine does not tell")
	}
	for _, v := range m.detail.votes {
		add(m.vote(v))
	}
	return lines
}

// pad writes a place in a queue.
func pad(n int) string {
	text := strconv.Itoa(n)
	return strings.Repeat(" ", max(0, 4-len(text))) + text
}

// vote is what one of several places says of the name.
func (m *model) vote(v leasehold.Vote) (style, string) {
	as, said := plain, "free"
	switch {
	case errors.Is(v.Err, leasehold.ErrSilent):
		as, said = bad, "SILENT"
	case v.Err != nil:
		as, said = bad, "error: "+because(v.Err)
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
			said += ", ttl " + span(h.TTL)
		}
	}
	if v.Closed > 0 {
		as, said = bad, said+", in QUARANTINE for "+span(v.Closed)
	}
	return as, "place " + v.Place + ": " + said
}

// mode is how a lock is held, or how many permits are.
func mode(k leasehold.Kind, held driver.Mode, weight int) string {
	switch {
	case k != leasehold.KindSemaphore:
		return held.String()
	case weight == 1:
		return "1 permit"
	}
	return strconv.Itoa(weight) + " permits"
}
