// Package draw draws what was recorded: as text for terminals, and as SVG.
package draw

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// Figure is a case that was played on both sides.
type Figure struct {
	Letter, Title, Story, Moral string
	Without, With               Side
}

// Side is how it went on one side.
type Side struct {
	What string // how the clients lock
	tape.Recording
}

// Outcome says in a few words what has become of the work.
func (s Side) Outcome() string {
	switch {
	case s.Hung > 0:
		return "hangs for ever"
	case s.Lost == 1:
		return "1 update lost"
	case s.Lost > 1:
		return fmt.Sprintf("%d updates lost", s.Lost)
	}
	return "nothing lost"
}

// caption is a text that stands under a lane, and where.
type caption struct {
	text string
	what tape.What
	x    float64 // of its mark, and then of its left end
	row  int
}

// arrange gives each caption a row, so that none touches another: the uppermost that has room. They begin at their marks, or end at the
// right edge if there is no room for them.
func arrange(all []caption, right, gap float64, wide func(string) float64) (rows int) {
	var ends []float64 // of the last caption of each row
	for i := range all {
		c := &all[i]
		c.x = max(0, min(c.x, right-wide(c.text)))
		c.row = slices.IndexFunc(ends, func(end float64) bool { return end+gap <= c.x })
		if c.row < 0 {
			c.row = len(ends)
			ends = append(ends, 0)
		}
		ends[c.row] = c.x + wide(c.text)
	}
	return len(ends)
}

// together returns the times in which more than one client believes that it holds the lock.
func together(lanes []tape.Lane) (both []tape.Span) {
	var holds [][]tape.Span
	for _, l := range lanes {
		var of []tape.Span
		for _, s := range l.Spans {
			if l.Kind == tape.Client && s.During == tape.Holds {
				of = append(of, s)
			}
		}
		holds = append(holds, of)
	}
	for i := range holds {
		for _, a := range holds[i] {
			for _, other := range holds[i+1:] {
				for _, b := range other {
					if s := (tape.Span{From: max(a.From, b.From), To: min(a.To, b.To)}); s.From < s.To {
						both = append(both, s)
					}
				}
			}
		}
	}
	return both
}

// step returns the time between two marks of the time axis, so that there are no more than so many.
func step(end time.Duration, most int) time.Duration {
	for unit := time.Millisecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if s := n * unit; end/s < time.Duration(most) {
				return s
			}
		}
	}
}
