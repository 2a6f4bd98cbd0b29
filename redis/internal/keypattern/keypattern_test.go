package keypattern_test

import (
	"testing"

	"github.com/leasehold-go/leasehold/redis/internal/keypattern"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"orders:7": "orders:7", "a*b?": `a\*b\?`, "[^a-z]": `\[\^a\-z\]`, `\`: `\\`, "{a}": "{a}",
	} {
		if got := keypattern.Escape(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
