//go:build unix

package cli

import (
	"os/exec"
	"testing"

	"github.com/leasehold-go/leasehold/driver"
)

func TestPositions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]driver.Key{
		"lock/a":          {Kind: driver.Lock, Name: "a"},
		"semaphore/a/b c": {Kind: driver.Semaphore, Name: "a/b c"},
		"latch/":          {Kind: driver.Latch},
	} {
		var p position
		if err := p.Set(text); err != nil || p.key() != want || p.String() != text {
			t.Errorf("%q became %v, %v", text, p.key(), err)
		}
	}
	for _, text := range []string{"", "a", "lock", "mutex/a", "/a"} {
		var p position
		if err := p.Set(text); err == nil {
			t.Errorf("%q became %v", text, p.key())
		}
	}
}

// A shell turns the quoted word back into the original.
func TestQuotedWordsSurviveAShell(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not there: nothing else here is known to have $'...'")
	}
	for word, want := range map[string]string{
		"lock/order:1001":  "lock/order:1001",
		"lock/a b":         "'lock/a b'",
		"lock/it's $x":     `'lock/it'\''s $x'`,
		"lock/a\n\x1b[31m": `$'lock/a\n\x1b[31m'`,
		"a\\\t'b":          `$'a\\\t\'b'`,
		"\u202eStraße 東京":  "$'\\u202eStraße 東京'",
		"":                 "''",
	} {
		got := shellQuote(word)
		if got != want {
			t.Errorf("%q is quoted as %s, want %s", word, got, want)
		}
		cmd := exec.Command(bash, "-c", "printf %s "+got)
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		if out, err := cmd.Output(); err != nil || string(out) != word {
			t.Errorf("a shell makes %q of %s: %v", out, got, err)
		}
	}
}
