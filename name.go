package leasehold

import (
	"strings"
	"unicode/utf8"
)

const allowedText = "1 to 1024 bytes of valid UTF-8 without NUL"

// validText reports whether s is allowed as a name or as a holder text.
func validText(s string) bool {
	return len(s) >= 1 && len(s) <= MaxName && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
