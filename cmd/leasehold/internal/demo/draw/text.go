package draw

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// legendWidth is how long the lines of the legend may be: it also goes into files and pipes.
const legendWidth = 80

// Legend explains the signs in the pictures.
func Legend(w io.Writer, s screen.Screen) error {
	p := newTextDrawer(w, s)
	p.width = legendWidth
	for _, e := range []struct {
		kind cellKind
		text string
	}{
		{cellKind(timeline.Waits), "waits"}, {cellKind(timeline.Holds), "believes that it holds the lock"},
		{cellKind(timeline.Stopped), "stands still"}, {heldTwice, "two believe it at once"},
		{cellKind(timeline.Hangs), "never gets the lock"}, {cellKind(timeline.Dies), "dies"},
		{cellKind(timeline.Closed), "grants nothing"}, {cellKind(timeline.Down), "is down"},
		{idle, "nothing happens"}, {cellKind(timeline.Accepted), "written"},
		{cellKind(timeline.Lost), "overwrites an update"}, {cellKind(timeline.Refused), "refused"},
		{cellKind(timeline.Note), "something else, as its text says"},
	} {
		p.legendEntry(e.kind, e.text)
	}
	p.endLine()
	p.line("")
	return p.err
}

// Text draws a case for a terminal.
func Text(w io.Writer, s screen.Screen, f Figure) error {
	p := newTextDrawer(w, s)
	p.bothEnds(f.Letter+"  "+f.Title, screen.Bold, "leases of "+seconds(f.With.TTL), screen.Dim)
	p.paragraph("   ", f.Story)
	for _, side := range []struct {
		name string
		Side
	}{{"without:", f.Without}, {"with leasehold:", f.With}} {
		p.line("")
		p.side(side.name, side.Side)
	}
	p.line("")
	p.paragraph("   ", "→ "+f.Moral)
	p.line("")
	return p.err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// side draws the lanes of one side.
func (p *textDrawer) side(name string, s Side) {
	color := screen.Green
	if !s.Good() {
		color = screen.Red
	}
	p.bothEnds("   "+name+" "+s.What, "", s.Outcome(), color)

	scale := p.scale(s.End)
	p.axis(s.End, scale)
	both := overlaps(s.Lanes)
	for _, l := range s.Lanes {
		if l.Kind != timeline.Client {
			continue
		}
		p.lane(s.Timeline, l, scale, both)
	}
	p.conflictLane(both, scale)
	for _, l := range s.Lanes {
		if l.Kind != timeline.Client {
			p.lane(s.Timeline, l, scale, nil)
		}
	}
}

// margin is the width of the column left of the lanes.
const margin = 12

// room is the free space on the right, for captions of the last events.
const room = 9

// scale returns a function from times to columns.
func (p *textDrawer) scale(end time.Duration) func(time.Duration) int {
	columns := p.width - margin - room
	return func(d time.Duration) int { return int(float64(columns) * float64(d) / float64(max(end, 1))) }
}

// axis draws the time axis.
func (p *textDrawer) axis(end time.Duration, scale func(time.Duration) int) {
	line := ""
	tick := tickInterval(end, p.width/10)
	for at := time.Duration(0); at <= end; at += tick {
		gap := max(0, margin+scale(at)-utf8.RuneCountInString(line))
		line += strings.Repeat(" ", gap) + fmt.Sprintf("%gs", at.Seconds())
	}
	p.line(p.Colored(line, screen.Dim))
}
