// Package quote writes texts of others into tables for people, so that no two of them look alike, and none looks like more than one cell.
package quote

import (
	"strconv"
	"strings"
	"unicode"
)

// Name returns a name as it is, or in quotation marks, with escapes as in Go, if it is empty or has anything but letters, digits and signs: spaces, quotation marks,
// backslashes, what cannot be seen, what turns the direction of writing.
func Name(name string) string {
	if name == "" || strings.Contains(name, " ") {
		return quoted(name)
	}
	return Text(name)
}

// quoted returns a text in quotation marks. [strconv.Quote] leaves letters as they are that show nothing.
func quoted(text string) string {
	if strings.ContainsFunc(text, isUnseen) {
		return strconv.QuoteToASCII(text)
	}
	return strconv.Quote(text)
}

// isUnseen reports whether a letter or mark shows nothing, though it counts as one that is printed: fillers, joiners,
// selectors of variations, the empty Braille pattern. See Default_Ignorable_Code_Point in
// https://www.unicode.org/reports/tr44/.
func isUnseen(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Text is Name for what has single spaces between its words, as a text about a holder does. A dash alone is quoted, since it stands for nothing.
func Text(text string) string {
	q := quoted(text)
	if text == "-" || text != strings.TrimSpace(text) || strings.Contains(text, "  ") || q[1:len(q)-1] != text {
		return q
	}
	return text
}

// Cell is Text, and a dash for no text.
func Cell(text string) string {
	if text == "" {
		return "-"
	}
	return Text(text)
}
