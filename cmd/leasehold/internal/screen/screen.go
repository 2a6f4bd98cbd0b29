// Package screen writes text for people: in lines that fit on their screen, and in colours if the screen has them.
package screen

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Screen says what the output can show.
type Screen struct {
	// Width is how many letters a line has.
	Width int
	// Colors: it understands the colours of ANSI terminals.
	Colors bool
	// ASCII: it may show nothing else.
	ASCII bool
}

// The widths between which text is laid out, whatever the width of the screen.
const (
	minTextWidth = 80
	maxTextWidth = 120
)

// TextWidth is the width for text and pictures: Width, but at least 80 and at most 120.
func (s Screen) TextWidth() int { return min(max(s.Width, minTextWidth), maxTextWidth) }

// Paragraph writes text in lines of at most TextWidth letters, each behind the indent.
func (s Screen) Paragraph(w io.Writer, indent, text string) error {
	for _, line := range Wrap(s.Plain(text), s.TextWidth()-utf8.RuneCountInString(indent)) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(indent+line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// Plain replaces arrows and the like by ASCII, if the screen may show nothing else.
func (s Screen) Plain(text string) string {
	if !s.ASCII {
		return text
	}
	return strings.NewReplacer("→", "->", "…", "..").Replace(text)
}

// Color is an ANSI colour or style. The zero Color changes nothing. Several are joined by semicolons.
type Color string

// The colours and styles of ANSI terminals.
const (
	Bold   Color = "1"
	Dim    Color = "2"
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
	Blue   Color = "34"
	Cyan   Color = "36"
)

// Colored returns the text in a colour, if the screen has colours and there is anything to see.
func (s Screen) Colored(text string, c Color) string {
	if !s.Colors || c == "" || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Wrap breaks text between words into lines of at most width letters. A longer word has a line of its own.
func Wrap(text string, width int) (lines []string) {
	line, length := "", 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			lines, line, length = append(lines, line), "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}
