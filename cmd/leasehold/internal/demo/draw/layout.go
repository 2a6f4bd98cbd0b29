// Package draw draws timelines: as text for terminals, and as SVG.
package draw

import (
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// Figure is a case with both of its results.
type Figure struct {
	Letter, Title, Story, Moral string
	Without, With               Side
}

// Side is the result of a case, with leasehold or without.
type Side struct {
	What string // how the clients lock
	timeline.Timeline
}

// Outcome says in a few words what became of the work.
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

// caption is a text below a lane.
type caption struct {
	text string
	kind timeline.EventKind
	x    float64 // of its event, and later of its left end
	row  int
}

// arrangeCaptions gives each caption the highest row in which it touches no other one. A caption begins below its
// event, or ends at the right edge if it does not fit there.
func arrangeCaptions(all []caption, right, gap float64, wide func(string) float64) (rows int) {
	var ends []float64 // where the last caption of each row ends
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

// overlaps returns the times in which more than one client believes that it holds the lock.
func overlaps(lanes []timeline.Lane) (both []timeline.Interval) {
	var holds [][]timeline.Interval
	for _, l := range lanes {
		var of []timeline.Interval
		for _, s := range l.Intervals {
			if l.Kind == timeline.Client && s.State == timeline.Holds {
				of = append(of, s)
			}
		}
		holds = append(holds, of)
	}
	for i := range holds {
		for _, a := range holds[i] {
			for _, other := range holds[i+1:] {
				for _, b := range other {
					if s := (timeline.Interval{From: max(a.From, b.From), To: min(a.To, b.To)}); s.From < s.To {
						both = append(both, s)
					}
				}
			}
		}
	}
	return both
}

// tickInterval returns the time between two ticks of the time axis, so that there are at most that many.
func tickInterval(end time.Duration, most int) time.Duration {
	for unit := time.Millisecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if s := n * unit; end/s < time.Duration(most) {
				return s
			}
		}
	}
}
