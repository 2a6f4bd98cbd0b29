package fence

import (
	"strings"
	"unicode"
)

// unambiguous returns what a name must be like instead, if the name may stand for the same thing as another name once
// somebody has cleaned, decoded or trimmed it. It returns "" if no other name that passes may stand for the same thing.
// letters says whether letters beyond ASCII are allowed.
func unambiguous(name string, letters bool) (wanted string) {
	switch {
	case strings.ContainsAny(name, `\%;?#`): // separators, escapes, parameters
		return `without \ % ; ? #`
	case strings.ContainsFunc(name, isUnseen):
		return "without blanks, control characters and invisible letters"
	case !letters && strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }):
		return "of ASCII, unless the service has fence.Normalize"
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(name, ":", "/"), "/") {
		// this includes . and ..; some file systems drop dots at the end
		if part == "" || strings.HasSuffix(part, ".") {
			return "without an empty part, or one that ends with a dot, between / and :"
		}
	}
	return ""
}

// unseen are letters and symbols that show nothing, besides those that are not graphic.
var unseen = []*unicode.RangeTable{unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// isUnseen reports whether a letter shows nothing, so that it may be dropped or trimmed.
func isUnseen(r rune) bool {
	const blankBraille = '\u2800'
	return !unicode.IsGraphic(r) || unicode.In(r, unseen...) || r == blankBraille
}
