//go:build unix

package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// columns writes a table in chunks. Each column is as wide as its widest cell so far, so the columns of a chunk are
// aligned, and later chunks shift only if a wider cell has come.
type columns struct {
	out    io.Writer
	widths []int
	rows   [][]string // of the current chunk
}

// addRow adds a row to the chunk. All rows must have the same number of cells.
func (c *columns) addRow(cells ...string) { c.rows = append(c.rows, cells) }

// flush writes the chunk.
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
			if i < len(row)-1 { // no padding after the last cell
				b.WriteString(strings.Repeat(" ", c.widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	c.rows = c.rows[:0]
	_, err := io.WriteString(c.out, b.String())
	return err
}
