package top

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// cell is one letter on the screen, with its combining marks.
type cell struct {
	text  string
	width int // 1 or 2
	style style
}

// style is the meaning of a text. The painter decides how it looks.
type style uint8

const (
	plain style = iota
	strong
	faint
	good
	warn
	bad
	heading
	marked
)

// charset says which letters the terminal can show.
type charset struct {
	// ascii: only ASCII.
	ascii bool
	// wideAmbiguous: letters of ambiguous width, which depends on the country, are wide.
	wideAmbiguous bool
}

// maxMarks is how many combining marks a letter may have. More would overlap other letters.
const maxMarks = 3

// letters splits a text into cells. It escapes, as Go does, what could steer a terminal and what terminals show in
// different widths: controls, joiners, directions, variation selectors, flags.
func (s charset) letters(text string) []cell {
	cells := make([]cell, 0, len(text))
	marks := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		letter := text[i : i+size]
		i += size
		switch {
		case r >= ' ' && r <= '~':
			cells = append(cells, cell{text: letter, width: 1})
			marks = maxMarks
		case marks > 0 && !s.ascii && isMark(r):
			cells[len(cells)-1].text += letter
			marks--
		case s.isShown(r) && (r != utf8.RuneError || size > 1):
			cells = append(cells, cell{text: letter, width: s.width(r)})
			marks = maxMarks
		default:
			for _, c := range escaped(r, letter) {
				cells = append(cells, cell{text: string(c), width: 1})
			}
			marks = 0
		}
	}
	return cells
}

// isMark reports whether all terminals show a rune above or below the one before it.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && !unicode.Is(unicode.Variation_Selector, r)
}

// isShown reports whether a rune is shown as it is.
func (s charset) isShown(r rune) bool {
	return !s.ascii && strconv.IsPrint(r) && !unicode.In(r, unicode.M, joining) && s.width(r) > 0
}

// joining are letters that some terminals join with the letter before them, and others do not.
var joining = &unicode.RangeTable{
	// Parts of Korean syllables.
	R16: []unicode.Range16{{0x1160, 0x11ff, 1}, {0x3164, 0x3164, 1}, {0xd7b0, 0xd7ff, 1}, {0xffa0, 0xffa0, 1}},
	// Flags, skin tones.
	R32: []unicode.Range32{{0x1f1e6, 0x1f1ff, 1}, {0x1f3fb, 0x1f3ff, 1}},
}

func (s charset) width(r rune) int {
	return displaywidth.Options{EastAsianWidth: s.wideAmbiguous}.Rune(r)
}

func escaped(r rune, letter string) string {
	if r == utf8.RuneError && len(letter) == 1 {
		return fmt.Sprintf(`\x%02x`, letter[0])
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return strings.Trim(quoted, "'")
}

// cellsWidth returns how many columns the cells take.
func cellsWidth(cells []cell) (n int) {
	for _, c := range cells {
		n += c.width
	}
	return n
}

// fit makes cells exactly width columns wide: it adds spaces, or cuts them off behind an ellipsis.
func (s charset) fit(cells []cell, width int) []cell {
	if width <= 0 {
		return nil
	}
	have := cellsWidth(cells)
	if have <= width {
		return append(cells[:len(cells):len(cells)], spaces(width-have)...)
	}
	mark := s.ellipsis()
	n, used := 0, 0
	for used+cells[n].width <= width-1 {
		used += cells[n].width
		n++
	}
	out := append(cells[:n:n], cell{text: mark, width: 1, style: faint})
	return append(out, spaces(width-used-1)...)
}

// ellipsis is shown where a text was cut off.
func (s charset) ellipsis() string {
	if s.ascii || s.wideAmbiguous {
		return "~"
	}
	return "…"
}

func spaces(n int) []cell {
	cells := make([]cell, n)
	for i := range cells {
		cells[i] = cell{text: " ", width: 1}
	}
	return cells
}

// setStyle sets the style of all cells.
func setStyle(cells []cell, as style) []cell {
	for i := range cells {
		cells[i].style = as
	}
	return cells
}
