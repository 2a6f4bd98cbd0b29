//go:build unix

package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columns writes a table that comes in pieces. Each column is as wide as its widest cell so far, so the lines of a piece stand in line, and those of
// the next piece are shifted only if something wider has come.
type columns struct {
	out    io.Writer
	widths []int
	rows   [][]string // of the piece
}

// row adds a line to the piece. All rows have the same number of cells.
func (c *columns) row(cells ...string) { c.rows = append(c.rows, cells) }

// flush writes the piece.
func (c *columns) flush() error {
	for _, row := range c.rows {
		for i, cell := range row {
			if i == len(c.widths) {
				c.widths = append(c.widths, 0)
			}
			c.widths[i] = max(c.widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range c.rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 { // nothing stands behind the last one
				b.WriteString(strings.Repeat(" ", c.widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	c.rows = c.rows[:0]
	_, err := io.WriteString(c.out, b.String())
	return err
}
