//go:build unix

package main

import (
	"strings"
	"unicode/utf8"
)

// maxTableWidth is how many letters wide a table of a page may be: terminals have 80 columns, and lines are indented.
const maxTableWidth = 66

// splitRow returns the cells of a line of a table, or nil if it is no such line.
func splitRow(line string) []string {
	line, is := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !is {
		return nil
	}
	const escaped = "\x00"
	line = strings.ReplaceAll(strings.TrimSuffix(line, "|"), `\|`, escaped)
	cells := strings.Split(line, "|")
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), escaped, `\|`)
	}
	return cells
}

// table returns the lines of a table as they are if it fits on a terminal, and otherwise a list: what is in the first
// column, and below it the rest of its line.
func table(rows [][]string) string {
	width := 0
	for column := range rows[0] {
		most := 0
		for _, row := range rows {
			if column < len(row) {
				most = max(most, utf8.RuneCountInString(row[column]))
			}
		}
		width += most + 3
	}
	var b strings.Builder
	for i, row := range rows {
		switch {
		case width <= maxTableWidth:
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		case i > 1:
			entry := "\n" + row[0] + "\n: " + strings.Join(details(rows[0], row), "; ") + "\n"
			b.WriteString(strings.ReplaceAll(entry, `\|`, "|"))
		}
	}
	return b.String() + "\n"
}

// details returns the cells after the first, each with the head of its column if there are several.
func details(head, row []string) (all []string) {
	for i, cell := range row[1:] {
		if i+1 < len(head) && head[i+1] != "" && len(row) > 2 {
			cell = head[i+1] + ": " + cell
		}
		all = append(all, cell)
	}
	return all
}
