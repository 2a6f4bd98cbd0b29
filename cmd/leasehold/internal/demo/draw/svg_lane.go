package draw

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// lane draws one lane and what is to be said about it.
func (d *drawing) lane(r tape.Recording, l tape.Lane, scale func(time.Duration) float64, both []tape.Span) {
	d.y += 18
	y := d.y
	d.text(left-14, y+4.5, "name", l.Name)
	if l.Kind != tape.Client {
		d.line(left, y, wide-right, y, "rest")
	}
	d.spans(l, y, scale, both)
	var captions []caption
	for _, large := range []bool{false, true} { // the large ones on top
		for _, m := range l.Marks {
			if (signs[m.What] != "") == large {
				d.sign(scale(m.At), y, m.What)
			}
		}
	}
	for _, m := range l.Marks {
		captions = append(captions, caption{text: r.Says(m), what: m.What, x: scale(m.At) - 3})
	}
	rows := arrange(captions, wide-edge, 12, func(s string) float64 { return small * float64(utf8.RuneCountInString(s)) })
	for _, c := range captions {
		class := "small"
		switch c.what {
		case tape.Lost, tape.Hangs:
			class = "bad"
		}
		d.text(c.x, y+22+13*float64(c.row), class, c.text)
	}
	d.y += 10 + 13*float64(rows)
}

// spans draws what takes a while.
func (d *drawing) spans(l tape.Lane, y float64, scale func(time.Duration) float64, both []tape.Span) {
	stopped := func(at time.Duration) bool {
		for _, s := range l.Spans {
			if s.During == tape.Stopped && s.From <= at && at < s.To {
				return true
			}
		}
		return false
	}
	for _, s := range l.Spans {
		x1, x2 := scale(s.From), scale(s.To)
		switch s.During {
		case tape.Waits:
			for _, part := range parts(s, l.Spans) {
				if !stopped(part.From) {
					d.line(scale(part.From), y, scale(part.To), y, "waits")
				}
			}
		case tape.Holds:
			for _, part := range parts(s, append(l.Spans, both...)) {
				class := "holds"
				if within(part, both) {
					class = "twice"
				}
				if stopped(part.From) {
					continue
				}
				d.bar(scale(part.From), scale(part.To), y, class)
			}
		case tape.Stopped:
			for _, part := range parts(s, both) {
				class := "stopped"
				if within(part, both) && within(part, holding(l)) {
					class = "twice-stopped"
				}
				d.bar(scale(part.From), scale(part.To), y, class)
			}
		case tape.Closed:
			d.bar(x1, x2, y, "closed")
		case tape.Down:
			d.line(x1, y, x2, y, "down")
		}
	}
}

// holding returns the spans in which a client believes that it holds.
func holding(l tape.Lane) (spans []tape.Span) {
	for _, s := range l.Spans {
		if s.During == tape.Holds {
			spans = append(spans, s)
		}
	}
	return spans
}

// parts cuts a span wherever another begins or ends.
func parts(s tape.Span, others []tape.Span) (parts []tape.Span) {
	for at := s.From; at < s.To; {
		next := s.To
		for _, o := range others {
			for _, cut := range []time.Duration{o.From, o.To} {
				if cut > at && cut < next {
					next = cut
				}
			}
		}
		parts = append(parts, tape.Span{During: s.During, From: at, To: next})
		at = next
	}
	return parts
}

// within reports whether a part lies in one of some spans.
func within(part tape.Span, spans []tape.Span) bool {
	for _, s := range spans {
		if s.From <= part.From && part.To <= s.To {
			return true
		}
	}
	return false
}

// signs are the shapes within the circle of a mark, around its middle.
var signs = map[tape.What]string{
	tape.Accepted: "M-3.5 .5L-1 3L3.5 -2.5",
	tape.Lost:     "M0 -4V.5M0 3.7V3.8",
	tape.Refused:  "M-3 -3L3 3M3 -3L-3 3",
	tape.Dies:     "M0 -4.2V4.2M-2.8 -1.5H2.8",
	tape.Hangs:    "M-3.6 0V.1M0 0V.1M3.6 0V.1",
}

// sign draws a mark.
func (d *drawing) sign(x, y float64, w tape.What) {
	radius := 8.0
	if signs[w] == "" {
		radius = 4
	}
	fmt.Fprintf(&d.b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>\n", x, y, radius, w)
	if signs[w] != "" {
		fmt.Fprintf(&d.b, "<path d=\"%s\" transform=\"translate(%.1f %.1f)\" class=\"sign\"/>\n", signs[w], x, y)
	}
}
