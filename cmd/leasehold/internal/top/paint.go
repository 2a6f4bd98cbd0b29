package top

import (
	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
)

// painter paints frames on the terminal.
type painter struct {
	screen tcell.Screen
	styles [8]tcell.Style
}

func newPainter(s tcell.Screen, colors bool) *painter {
	p := &painter{screen: s}
	of := tcell.StyleDefault
	p.styles = [...]tcell.Style{
		plain: of, strong: of.Bold(true), faint: of.Dim(true),
		good: of, warn: of.Bold(true), bad: of.Bold(true).Reverse(true),
		heading: of.Bold(true).Underline(true), marked: of.Reverse(true),
	}
	if colors {
		p.styles[good] = of.Foreground(color.Green)
		p.styles[warn] = of.Foreground(color.Olive)
		p.styles[bad] = of.Foreground(color.Maroon).Bold(true)
	}
	return p
}

// paint shows a frame. It sends only what has changed.
func (p *painter) paint(f frame) {
	p.screen.Clear()
	for y, l := range f.lines {
		x := 0
		for _, c := range l {
			p.screen.Put(x, y, c.text, p.styles[c.style])
			x += c.width
		}
	}
	if f.x >= 0 {
		p.screen.ShowCursor(f.x, f.y)
	} else {
		p.screen.HideCursor()
	}
	p.screen.Show()
}
