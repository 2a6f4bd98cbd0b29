package draw

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// The legend explains each sign that a picture may have, in lines of at most 80 letters.
func TestLegend(t *testing.T) {
	t.Parallel()
	for _, s := range []screen.Screen{{Width: 80}, {Width: 120}, {Width: 120, ASCII: true}} {
		var b bytes.Buffer
		if err := Legend(&b, s); err != nil {
			t.Fatal(err)
		}
		var entries []string
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%d letters: %s", n, line)
			}
			entries = append(entries, strings.Split(line, "   ")...)
		}
		for kind, look := range appearances {
			sign := look.unicode
			if s.ASCII {
				sign = look.ascii
			}
			if sign == " " {
				sign = "a gap:"
			}
			explains := 0
			for _, e := range entries {
				if strings.HasPrefix(e, sign+" ") && len(e) > len(sign)+4 {
					explains++
				}
			}
			if kind != "" && explains != 1 {
				t.Errorf("%d entries for %q, the sign of %q, in %q", explains, sign, kind, entries)
			}
		}
	}
}
