package draw

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// lane draws one lane with its captions.
func (d *drawing) lane(
	r timeline.Timeline, l timeline.Lane, scale func(time.Duration) float64, both []timeline.Interval,
) {
	d.y += 18
	y := d.y
	d.text(left-14, y+4.5, "name", l.Name)
	if l.Kind != timeline.Client {
		d.line(left, y, wide-right, y, "rest")
	}
	d.intervals(l, y, scale, both)
	var captions []caption
	for _, large := range []bool{false, true} { // the large ones on top
		for _, m := range l.Points {
			if (signs[m.Kind] != "") == large {
				d.sign(scale(m.At), y, m.Kind)
			}
		}
	}
	for _, m := range l.Points {
		captions = append(captions, caption{text: r.Label(m), kind: m.Kind, x: scale(m.At) - 3})
	}
	rows := arrangeCaptions(captions, wide-edge, 12, func(s string) float64 {
		return small * float64(utf8.RuneCountInString(s))
	})
	for _, c := range captions {
		class := "small"
		switch c.kind {
		case timeline.Lost, timeline.Hangs:
			class = "bad"
		}
		d.text(c.x, y+22+13*float64(c.row), class, c.text)
	}
	d.y += 10 + 13*float64(rows)
}

// intervals draws the intervals of a lane.
func (d *drawing) intervals(l timeline.Lane, y float64, scale func(time.Duration) float64, both []timeline.Interval) {
	stopped := func(at time.Duration) bool {
		for _, s := range l.Intervals {
			if s.State == timeline.Stopped && s.From <= at && at < s.To {
				return true
			}
		}
		return false
	}
	for _, s := range l.Intervals {
		x1, x2 := scale(s.From), scale(s.To)
		switch s.State {
		case timeline.Waits:
			for _, part := range splitAt(s, l.Intervals) {
				if !stopped(part.From) {
					d.line(scale(part.From), y, scale(part.To), y, "waits")
				}
			}
		case timeline.Holds:
			for _, part := range splitAt(s, append(l.Intervals, both...)) {
				class := "holds"
				if liesIn(part, both) {
					class = "twice"
				}
				if stopped(part.From) {
					continue
				}
				d.bar(scale(part.From), scale(part.To), y, class)
			}
		case timeline.Stopped:
			for _, part := range splitAt(s, both) {
				class := "stopped"
				if liesIn(part, both) && liesIn(part, heldIntervals(l)) {
					class = "twice-stopped"
				}
				d.bar(scale(part.From), scale(part.To), y, class)
			}
		case timeline.Closed:
			d.bar(x1, x2, y, "closed")
		case timeline.Down:
			d.line(x1, y, x2, y, "down")
		}
	}
}

// heldIntervals returns the intervals in which a client believes that it holds the lock.
func heldIntervals(l timeline.Lane) (spans []timeline.Interval) {
	for _, s := range l.Intervals {
		if s.State == timeline.Holds {
			spans = append(spans, s)
		}
	}
	return spans
}

// splitAt splits an interval wherever another one begins or ends.
func splitAt(s timeline.Interval, others []timeline.Interval) (parts []timeline.Interval) {
	for at := s.From; at < s.To; {
		next := s.To
		for _, o := range others {
			for _, cut := range []time.Duration{o.From, o.To} {
				if cut > at && cut < next {
					next = cut
				}
			}
		}
		parts = append(parts, timeline.Interval{State: s.State, From: at, To: next})
		at = next
	}
	return parts
}

// liesIn reports whether an interval lies within one of the others.
func liesIn(part timeline.Interval, spans []timeline.Interval) bool {
	for _, s := range spans {
		if s.From <= part.From && part.To <= s.To {
			return true
		}
	}
	return false
}

// signs are the shapes within the circle of an event, relative to its centre.
var signs = map[timeline.EventKind]string{
	timeline.Accepted: "M-3.5 .5L-1 3L3.5 -2.5",
	timeline.Lost:     "M0 -4V.5M0 3.7V3.8",
	timeline.Refused:  "M-3 -3L3 3M3 -3L-3 3",
	timeline.Dies:     "M0 -4.2V4.2M-2.8 -1.5H2.8",
	timeline.Hangs:    "M-3.6 0V.1M0 0V.1M3.6 0V.1",
}

// sign draws an event.
func (d *drawing) sign(x, y float64, w timeline.EventKind) {
	radius := 8.0
	if signs[w] == "" {
		radius = 4
	}
	fmt.Fprintf(&d.b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>\n", x, y, radius, w)
	if signs[w] != "" {
		fmt.Fprintf(&d.b, "<path d=\"%s\" transform=\"translate(%.1f %.1f)\" class=\"sign\"/>\n", signs[w], x, y)
	}
}
