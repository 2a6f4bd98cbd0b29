// Package argument checks arguments of calls, and describes those that are not allowed.
package argument

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText is the length of the longest name and of the longest holder text, in bytes.
const MaxText = 1024

// AllowedText says what IsText allows.
const AllowedText = "1 to 1024 bytes of valid UTF-8 without NUL"

// IsText reports whether s is allowed as a name or as a holder text.
func IsText(s string) bool {
	return len(s) >= 1 && len(s) <= MaxText && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// Describe returns a value as an error shows it: shortened, and quoted if it is a string.
func Describe(value any) string {
	text := fmt.Sprint(value)
	const maxLen = 64
	if len(text) > maxLen {
		text = strings.ToValidUTF8(text[:maxLen], "") + "…"
	}
	if _, ok := value.(string); ok {
		text = strconv.Quote(text)
	}
	return text
}
