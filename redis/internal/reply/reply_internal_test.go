package reply

import (
	"strings"
	"testing"
)

// said is an error of a server.
type said string

func (s said) Error() string { return string(s) }
func (said) RedisError()     {}

// What a server says of a script and its line is left out of errors: Redis names the hash of the script, Valkey 9 does
// not.
func TestErrorsAreWithoutLinesOfScripts(t *testing.T) {
	t.Parallel()
	const wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
	for _, position := range []string{
		"", " script: " + strings.Repeat("0a", 20) + ", on @user_script:71.", " script: on @user_script:71.",
	} {
		if got := readable(said(wrong + position)); got != wrong {
			t.Errorf("%q becomes %q", wrong+position, got)
		}
	}
}
