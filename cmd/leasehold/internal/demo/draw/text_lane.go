package draw

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// lane draws one lane and what is to be said about it.
func (p *painter) lane(r tape.Recording, l tape.Lane, scale func(time.Duration) int, both []tape.Span) {
	row := p.spans(l, scale)
	for _, s := range both {
		for c := scale(s.From); c < scale(s.To); c++ {
			row[c].alarm = row[c].kind == kind(tape.Holds) || row[c].kind == kind(tape.Stopped)
		}
	}
	var captions []caption
	for _, m := range l.Marks {
		at := scale(m.At)
		if m.What != tape.Reads { // the caption is enough
			row[at] = cell{kind: kind(m.What)}
		}
		captions = append(captions, caption{text: r.Says(m), what: m.What, x: float64(at)})
	}
	p.row(l.Name, row)
	p.captions(captions, len(row))
}

// alarm draws the lane of the times in which two believe that they hold.
func (p *painter) alarm(both []tape.Span, scale func(time.Duration) int) {
	if len(both) == 0 {
		return
	}
	row := make([]cell, p.width-margin)
	for _, s := range both {
		p.span(row, s, twice, scale)
	}
	p.row("", row)
	p.captions([]caption{{text: "two at once", what: tape.Lost, x: float64(scale(both[0].From))}}, len(row))
}

// spans draws what takes a while: what happens over what does not, and standing still over everything.
func (p *painter) spans(l tape.Lane, scale func(time.Duration) int) []cell {
	row := make([]cell, p.width-margin)
	if l.Kind != tape.Client {
		for c := range row[:len(row)-room+1] {
			row[c].kind = quiet
		}
	}
	for _, first := range []tape.During{tape.Waits, "", tape.Stopped} {
		for _, s := range l.Spans {
			if s.During == first || first == "" && s.During != tape.Waits {
				p.span(row, s, kind(s.During), scale)
			}
		}
	}
	return row
}

// span draws one span, which is at least one letter.
func (p *painter) span(row []cell, s tape.Span, k kind, scale func(time.Duration) int) {
	from, to := scale(s.From), scale(s.To)
	if s.During == tape.Waits {
		to++ // up to what ends it
	}
	for c := from; c < max(to, from+1); c++ {
		row[c].kind = k
	}
}

func (p *painter) row(name string, row []cell) {
	var b strings.Builder
	fmt.Fprintf(&b, "   %-*s", margin-3, name)
	for len(row) > 0 { // what has the same colour is coloured at once
		_, color := p.glyph(row[0])
		run := ""
		for len(row) > 0 {
			next, same := p.glyph(row[0])
			if same != color {
				break
			}
			run += next
			row = row[1:]
		}
		b.WriteString(p.colored(run, color))
	}
	p.line(b.String())
}

// captions writes what stands under a lane.
func (p *painter) captions(all []caption, columns int) {
	for i := range all {
		all[i].text = p.plain(all[i].text)
	}
	rows := arrange(all, float64(columns), 2, func(s string) float64 { return float64(utf8.RuneCountInString(s)) })
	for r := range rows {
		var b strings.Builder
		column := -margin
		for _, c := range all {
			if c.row != r {
				continue
			}
			b.WriteString(strings.Repeat(" ", int(c.x)-column) + p.colored(c.text, looks[kind(c.what)].color))
			column = int(c.x) + utf8.RuneCountInString(c.text)
		}
		p.line(b.String())
	}
}
