package draw

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// painter writes lines, and remembers if it cannot.
type painter struct {
	Screen
	w     io.Writer
	width int
	words string // a line that is not full yet
	long  int    // its letters
	err   error
}

func (s Screen) painter(w io.Writer) *painter {
	return &painter{Screen: s, w: w, width: min(max(s.Width, narrow), broad)}
}

func (p *painter) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(text, " "))
	}
}

// ends writes one text on the left and one on the right, below each other if they do not fit into one line.
func (p *painter) ends(left, leftColor, right, rightColor string) {
	start := utf8.RuneCountInString(left)
	if room := p.width - start - utf8.RuneCountInString(right); room < 2 {
		p.line(p.colored(left, leftColor))
		left, start = "", 0
	}
	gap := strings.Repeat(" ", p.width-start-utf8.RuneCountInString(right))
	p.line(p.colored(left, leftColor) + gap + p.colored(right, rightColor))
}

// paragraph writes a text in lines that fit.
func (p *painter) paragraph(indent, text string) {
	line := indent
	for _, word := range strings.Fields(p.plain(text)) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width {
			p.line(line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	p.line(line)
}

// word adds an entry of the legend.
func (p *painter) word(k kind, text string) {
	long := 3 + utf8.RuneCountInString(text)
	if p.long+long+2 > p.width {
		p.end()
	}
	letter, color := p.glyph(cell{kind: k})
	p.words += p.colored(letter, color) + " " + text + "   "
	p.long += long + 2
}

func (p *painter) end() {
	p.line(p.words)
	p.words, p.long = "", 0
}

// glyph returns the letter of a cell, and its colour.
func (p *painter) glyph(c cell) (letter, color string) {
	look := looks[c.kind]
	color = look.color
	if c.alarm {
		color = red
	}
	if p.ASCII {
		return look.plain, color
	}
	return look.nice, color
}

func (p *painter) colored(text, color string) string {
	if !p.Colors || color == "" || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// plain replaces what is not ASCII, if nothing else may be shown.
func (p *painter) plain(text string) string {
	if !p.ASCII {
		return text
	}
	return strings.NewReplacer("→", "->", "…", "..").Replace(text)
}
