package draw

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// lane draws one lane with its captions.
func (p *textDrawer) lane(
	r timeline.Timeline, l timeline.Lane, scale func(time.Duration) int, both []timeline.Interval,
) {
	row := p.intervals(l, scale)
	for _, s := range both {
		for c := scale(s.From); c < scale(s.To); c++ {
			row[c].conflict = row[c].kind == cellKind(timeline.Holds) || row[c].kind == cellKind(timeline.Stopped)
		}
	}
	var captions []caption
	for _, m := range l.Points {
		at := scale(m.At)
		if m.Kind != timeline.Reads { // the caption is enough
			row[at] = cell{kind: cellKind(m.Kind)}
		}
		captions = append(captions, caption{text: r.Label(m), kind: m.Kind, x: float64(at)})
	}
	p.row(l.Name, row)
	p.captions(captions, len(row))
}

// conflictLane marks the times in which two clients believe that they hold the lock.
func (p *textDrawer) conflictLane(both []timeline.Interval, scale func(time.Duration) int) {
	if len(both) == 0 {
		return
	}
	row := make([]cell, p.width-margin)
	for _, s := range both {
		p.interval(row, s, heldTwice, scale)
	}
	p.row("", row)
	p.captions([]caption{{text: "two at once", kind: timeline.Lost, x: float64(scale(both[0].From))}}, len(row))
}

// intervals draws the intervals of a lane: waiting below everything else, a stopped process above it.
func (p *textDrawer) intervals(l timeline.Lane, scale func(time.Duration) int) []cell {
	row := make([]cell, p.width-margin)
	if l.Kind != timeline.Client {
		for c := range row[:len(row)-room+1] {
			row[c].kind = idle
		}
	}
	for _, first := range []timeline.State{timeline.Waits, "", timeline.Stopped} {
		for _, s := range l.Intervals {
			if s.State == first || first == "" && s.State != timeline.Waits {
				p.interval(row, s, cellKind(s.State), scale)
			}
		}
	}
	return row
}

// interval draws one interval, at least one letter wide.
func (p *textDrawer) interval(row []cell, s timeline.Interval, k cellKind, scale func(time.Duration) int) {
	from, to := scale(s.From), scale(s.To)
	if s.State == timeline.Waits {
		to++ // up to the event that ends it
	}
	for c := from; c < max(to, from+1); c++ {
		row[c].kind = k
	}
}

func (p *textDrawer) row(name string, row []cell) {
	var b strings.Builder
	fmt.Fprintf(&b, "   %-*s", margin-3, name)
	for len(row) > 0 { // letters of the same colour are coloured together
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
		b.WriteString(p.Colored(run, color))
	}
	p.line(b.String())
}

// captions writes the captions below a lane.
func (p *textDrawer) captions(all []caption, columns int) {
	for i := range all {
		all[i].text = p.Plain(all[i].text)
	}
	rows := arrangeCaptions(all, float64(columns), 2, func(s string) float64 {
		return float64(utf8.RuneCountInString(s))
	})
	for r := range rows {
		var b strings.Builder
		column := -margin
		for _, c := range all {
			if c.row != r {
				continue
			}
			b.WriteString(strings.Repeat(" ", int(c.x)-column) + p.Colored(c.text, appearances[cellKind(c.kind)].color))
			column = int(c.x) + utf8.RuneCountInString(c.text)
		}
		p.line(b.String())
	}
}
