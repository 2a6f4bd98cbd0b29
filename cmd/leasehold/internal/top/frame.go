package top

import "strings"

// frame is the content of the whole screen. It has at most as many lines as the screen, and none is wider.
type frame struct {
	lines [][]cell
	// x, y is where the next typed letter goes; -1 if none is expected.
	x, y int
}

// String returns the text of a frame, without trailing spaces.
func (f frame) String() string {
	var b strings.Builder
	for _, l := range f.lines {
		var text strings.Builder
		for _, c := range l {
			text.WriteString(c.text)
		}
		b.WriteString(strings.TrimRight(text.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// line is a line being built.
type line struct {
	charset charset
	width   int // of the screen
	cells   []cell
}

func (m *model) line() *line { return &line{charset: m.charset, width: m.width} }

// add appends a text.
func (l *line) add(as style, text string) *line {
	l.cells = append(l.cells, setStyle(l.charset.letters(text), as)...)
	return l
}

// also appends a text behind two spaces.
func (l *line) also(as style, text string) *line {
	if len(l.cells) > 0 {
		l.add(plain, "  ")
	}
	return l.add(as, text)
}

// done returns the line, as wide as the screen.
func (l *line) done() []cell { return l.charset.fit(l.cells, l.width) }

// wrap breaks a text into lines. All but the first are indented.
func (m *model) wrap(as style, text, indent string) [][]cell {
	cells := setStyle(m.charset.letters(text), as)
	in := m.charset.letters(indent)
	if cellsWidth(in) > m.width/2 {
		in = nil
	}
	var lines [][]cell
	for len(cells) > 0 {
		var l []cell
		if len(lines) > 0 {
			l = append(l, in...)
		}
		used := cellsWidth(l)
		for len(cells) > 0 && (used+cells[0].width <= m.width || len(l) == 0) {
			used += cells[0].width
			l = append(l, cells[0])
			cells = cells[1:]
		}
		if n := wordEnd(l); len(cells) > 0 && cells[0].text != " " && n > len(in) {
			cells = append(l[n:len(l):len(l)], cells...)
			l = l[:n]
		}
		lines = append(lines, m.charset.fit(l, m.width))
	}
	return lines
}

// wordEnd returns the end of the last whole word, including its space, if it is in the second half. Otherwise it
// returns 0.
func wordEnd(l []cell) int {
	for n := len(l); n > len(l)/2; n-- {
		if l[n-1].text == " " {
			return n
		}
	}
	return 0
}
