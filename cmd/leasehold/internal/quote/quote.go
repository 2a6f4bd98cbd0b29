// Package quote writes untrusted texts into tables, so that no two of them look alike and none looks like more than one
// cell.
package quote

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Name returns a name as it is if it has only letters, digits and signs. Otherwise, and if it is empty, it returns the
// name in quotation marks with Go escapes: if it has spaces, quotation marks, backslashes, or anything that is
// invisible or changes the direction of text, or if it is not the usual one (NFC) of the forms that look the same.
func Name(name string) string {
	if name == "" || strings.Contains(name, " ") {
		return quoted(name)
	}
	return Text(name)
}

// quoted returns a text in quotation marks. Unlike [strconv.Quote], it escapes invisible letters, and letters of a text
// that is not in the normal form NFC, by itself or between escapes: a mark may join the last letter of one.
func quoted(text string) string {
	q := strconv.Quote(text)
	if strings.ContainsFunc(text, isInvisible) || !norm.NFC.IsNormalString(text) || !norm.NFC.IsNormalString(q) {
		return strconv.QuoteToASCII(text)
	}
	return q
}

// isInvisible reports whether a letter or mark shows nothing although it counts as printable: fillers, joiners,
// variation selectors, the empty Braille pattern. See Default_Ignorable_Code_Point in
// https://www.unicode.org/reports/tr44/.
func isInvisible(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Text is like Name, but allows single spaces between words, as holder texts have them. It quotes a lone dash, which
// stands for an empty cell.
func Text(text string) string {
	q := quoted(text)
	if text == "-" || text != strings.TrimSpace(text) || strings.Contains(text, "  ") || q[1:len(q)-1] != text {
		return q
	}
	return text
}

// Cell is like Text, but returns a dash for an empty text.
func Cell(text string) string {
	if text == "" {
		return "-"
	}
	return Text(text)
}
