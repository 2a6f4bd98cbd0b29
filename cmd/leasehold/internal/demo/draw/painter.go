package draw

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// textDrawer writes lines, and keeps the first error.
type textDrawer struct {
	screen.Screen
	w             io.Writer
	width         int
	pending       string // the unfinished line of the legend
	pendingLength int    // its letters
	err           error
}

func newTextDrawer(w io.Writer, s screen.Screen) *textDrawer {
	return &textDrawer{Screen: s, w: w, width: s.TextWidth()}
}

func (p *textDrawer) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(text, " "))
	}
}

// bothEnds writes a text on the left and one on the right, on separate lines if one line is too short.
func (p *textDrawer) bothEnds(left string, leftColor screen.Color, right string, rightColor screen.Color) {
	start := utf8.RuneCountInString(left)
	if room := p.width - start - utf8.RuneCountInString(right); room < 2 {
		p.line(p.Colored(left, leftColor))
		left, start = "", 0
	}
	gap := strings.Repeat(" ", p.width-start-utf8.RuneCountInString(right))
	p.line(p.Colored(left, leftColor) + gap + p.Colored(right, rightColor))
}

// paragraph writes a text in lines that fit.
func (p *textDrawer) paragraph(indent, text string) {
	if p.err == nil {
		p.err = p.Paragraph(p.w, indent, text)
	}
}

// legendEntry adds an entry to the legend.
func (p *textDrawer) legendEntry(k cellKind, text string) {
	letter, color := p.glyph(cell{kind: k})
	if letter == " " {
		letter = "a gap:"
	}
	long := utf8.RuneCountInString(letter + " " + text)
	if p.pendingLength+long > p.width {
		p.endLine()
	}
	p.pending += p.Colored(letter, color) + " " + text + "   "
	p.pendingLength += long + 3
}

func (p *textDrawer) endLine() {
	p.line(p.pending)
	p.pending, p.pendingLength = "", 0
}

// glyph returns the letter of a cell, and its colour.
func (p *textDrawer) glyph(c cell) (letter string, color screen.Color) {
	look := appearances[c.kind]
	color = look.color
	if c.conflict {
		color = screen.Red
	}
	if p.ASCII {
		return look.ascii, color
	}
	return look.unicode, color
}
