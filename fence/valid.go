package fence

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/driver"
)

// Limits. They are those of locks.
const (
	// MaxName is the length of the longest name, in bytes.
	MaxName = 1024
	// MaxToken is the largest token.
	MaxToken uint64 = driver.MaxToken
)

// The names of values in the errors of Valid.
const (
	fieldName  = "name"
	fieldToken = "token"
)

const allowedNames = "1 to 1024 bytes of valid UTF-8 without NUL, as the name of a lock"

// Valid returns a [*ValueError] if the name or the token is not possible, and nil otherwise. Everything that takes a
// name and a token refuses the same ones. It is exported for other implementations of [Marks].
func Valid(name string, token uint64) error {
	if len(name) < 1 || len(name) > MaxName || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
		return invalid(fieldName, name, allowedNames)
	}
	return validToken(token)
}

func validToken(token uint64) error {
	if token >= 1 && token <= MaxToken {
		return nil
	}
	return &ValueError{
		Field:   fieldToken,
		Value:   strconv.FormatUint(token, 10),
		Allowed: "1 to " + strconv.FormatUint(MaxToken, 10) + ", as a lease has it",
	}
}

// shortened keeps long values out of error texts.
func shortened(s string) string {
	const limit = 64
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
