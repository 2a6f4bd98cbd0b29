package top

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// cell is one letter on the screen, with the marks that belong to it.
type cell struct {
	text  string
	width int // 1 or 2
	style style
}

// style is what a text means. How that looks is up to the painter.
type style uint8

const (
	plain style = iota
	strong
	faint
	good
	warn
	bad
	heading
	chosen
)

// script says which letters the terminal has.
type script struct {
	// ascii: no others than those.
	ascii bool
	// broad: letters that are narrow or wide depending on the country are wide.
	broad bool
}

// maxMarks is how many marks one letter may carry: names with more would climb over their neighbours.
const maxMarks = 3

// letters takes a text apart. What could steer a terminal, or what terminals do not agree on how wide it is, comes as an escape as in Go: controls,
// joiners, directions, variants, flags.
func (s script) letters(text string) []cell {
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
		case s.shown(r) && (r != utf8.RuneError || size > 1):
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

// isMark reports whether a rune stands above or below the one before it, on all terminals.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) && !unicode.Is(unicode.Variation_Selector, r)
}

// shown reports whether a rune stands for itself.
func (s script) shown(r rune) bool {
	return !s.ascii && strconv.IsPrint(r) && !unicode.In(r, unicode.M, joining) && s.width(r) > 0
}

// joining are letters that some terminals, and not others, show together with the one before them.
var joining = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1160, 0x11ff, 1}, {0x3164, 0x3164, 1}, {0xd7b0, 0xd7ff, 1}, {0xffa0, 0xffa0, 1}}, // parts of Korean syllables
	R32: []unicode.Range32{{0x1f1e6, 0x1f1ff, 1}, {0x1f3fb, 0x1f3ff, 1}},                                       // flags, tones of skin
}

func (s script) width(r rune) int { return displaywidth.Options{EastAsianWidth: s.broad}.Rune(r) }

func escaped(r rune, letter string) string {
	if r == utf8.RuneError && len(letter) == 1 {
		return fmt.Sprintf(`\x%02x`, letter[0])
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return strings.Trim(quoted, "'")
}

// wide is how many columns cells take.
func wide(cells []cell) (n int) {
	for _, c := range cells {
		n += c.width
	}
	return n
}

// fit makes cells exactly so wide: with spaces behind them, or cut off, which is marked.
func (s script) fit(cells []cell, width int) []cell {
	if width <= 0 {
		return nil
	}
	have := wide(cells)
	if have <= width {
		return append(cells[:len(cells):len(cells)], spaces(width-have)...)
	}
	mark := s.cut()
	n, used := 0, 0
	for used+cells[n].width <= width-1 {
		used += cells[n].width
		n++
	}
	out := append(cells[:n:n], cell{text: mark, width: 1, style: faint})
	return append(out, spaces(width-used-1)...)
}

// cut is what stands where a text was cut off.
func (s script) cut() string {
	if s.ascii || s.broad {
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

// styled gives all cells a style.
func styled(cells []cell, as style) []cell {
	for i := range cells {
		cells[i].style = as
	}
	return cells
}
