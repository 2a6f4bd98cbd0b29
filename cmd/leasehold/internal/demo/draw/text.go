package draw

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// Screen is what text is drawn for.
type Screen struct {
	// Width is how many letters a line has. Less than 80 are taken for 80, more than 120 for 120.
	Width int
	// Colors: it understands the colours of ANSI terminals.
	Colors bool
	// ASCII: it may show nothing else.
	ASCII bool
}

// Limits of the width.
const (
	narrow = 80
	broad  = 120
)

// Legend explains the pictures.
func (s Screen) Legend(w io.Writer) error {
	p := s.painter(w)
	for _, e := range []struct {
		kind kind
		text string
	}{
		{kind(tape.Waits), "waits"}, {kind(tape.Holds), "believes that it holds the lock"}, {kind(tape.Stopped), "stands still"}, {twice, "two believe it at once"},
		{kind(tape.Accepted), "written"}, {kind(tape.Lost), "overwrites an update"}, {kind(tape.Refused), "refused"},
	} {
		p.word(e.kind, e.text)
	}
	p.end()
	p.line("")
	return p.err
}

// Say writes a paragraph, after a line that is empty.
func (s Screen) Say(w io.Writer, text string) error {
	p := s.painter(w)
	p.line("")
	p.paragraph("", text)
	return p.err
}

// Draw draws a case.
func (s Screen) Draw(w io.Writer, f Figure) error {
	p := s.painter(w)
	p.ends(f.Letter+"  "+f.Title, bold, "leases of "+seconds(f.With.TTL), dim)
	p.paragraph("   ", f.Story)
	for _, side := range []struct {
		name string
		Side
	}{{"without:", f.Without}, {"with leasehold:", f.With}} {
		p.line("")
		p.side(side.name, side.Side)
	}
	p.line("")
	p.paragraph("   ", p.plain("→ ")+f.Moral)
	p.line("")
	return p.err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// side draws the lanes of one side.
func (p *painter) side(name string, s Side) {
	color := green
	if !s.Good() {
		color = red
	}
	p.ends("   "+name+" "+s.What, "", s.Outcome(), color)

	scale := p.scale(s.End)
	p.axis(s.End, scale)
	both := together(s.Lanes)
	for _, l := range s.Lanes {
		if l.Kind != tape.Client {
			continue
		}
		p.lane(s.Recording, l, scale, both)
	}
	p.alarm(both, scale)
	for _, l := range s.Lanes {
		if l.Kind != tape.Client {
			p.lane(s.Recording, l, scale, nil)
		}
	}
}

// margin is how far the lanes are from the left.
const margin = 12

// room is how much is left free on the right, for what is said about the last things that happen.
const room = 9

// scale returns the column of a moment.
func (p *painter) scale(end time.Duration) func(time.Duration) int {
	columns := p.width - margin - room
	return func(d time.Duration) int { return int(float64(columns) * float64(d) / float64(max(end, 1))) }
}

// axis draws the time.
func (p *painter) axis(end time.Duration, scale func(time.Duration) int) {
	line := ""
	tick := step(end, p.width/10)
	for at := time.Duration(0); at <= end; at += tick {
		line += strings.Repeat(" ", max(0, margin+scale(at)-utf8.RuneCountInString(line))) + fmt.Sprintf("%gs", at.Seconds())
	}
	p.line(p.colored(line, dim))
}
