package top

import "strings"

// frame is the picture of the whole screen: lines from the top, none wider than the screen, and no more of them than fit.
type frame struct {
	lines [][]cell
	// cursor is where the next letter that is typed goes; -1 if none is expected.
	x, y int
}

// String is the text of a frame, without spaces at the ends of lines.
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

// line is a line that is being written.
type line struct {
	script script
	width  int // of the screen
	cells  []cell
}

func (m *model) line() *line { return &line{script: m.script, width: m.width} }

// add writes a text behind what is there.
func (l *line) add(as style, text string) *line {
	l.cells = append(l.cells, styled(l.script.letters(text), as)...)
	return l
}

// also writes a text, two spaces behind what is there.
func (l *line) also(as style, text string) *line {
	if len(l.cells) > 0 {
		l.add(plain, "  ")
	}
	return l.add(as, text)
}

// done returns the line, as wide as the screen.
func (l *line) done() []cell { return l.script.fit(l.cells, l.width) }

// wrap cuts a text into lines, behind an indent from the second line on.
func (m *model) wrap(as style, text, indent string) [][]cell {
	cells := styled(m.script.letters(text), as)
	in := m.script.letters(indent)
	if wide(in) > m.width/2 {
		in = nil
	}
	var lines [][]cell
	for len(cells) > 0 {
		var l []cell
		if len(lines) > 0 {
			l = append(l, in...)
		}
		used := wide(l)
		for len(cells) > 0 && (used+cells[0].width <= m.width || len(l) == 0) {
			used += cells[0].width
			l = append(l, cells[0])
			cells = cells[1:]
		}
		if n := wordEnd(l); len(cells) > 0 && cells[0].text != " " && n > len(in) {
			cells = append(l[n:len(l):len(l)], cells...)
			l = l[:n]
		}
		lines = append(lines, m.script.fit(l, m.width))
	}
	return lines
}

// wordEnd is where the last word that is whole ends, with its space, if that is in the second half.
func wordEnd(l []cell) int {
	for n := len(l); n > len(l)/2; n-- {
		if l[n-1].text == " " {
			return n
		}
	}
	return 0
}
