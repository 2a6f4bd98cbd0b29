package argument

import (
	"strings"
	"testing"
	"time"
)

func TestIsText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"n", " ", "a\nb", "日本", strings.Repeat("n", MaxText), strings.Repeat("ä", MaxText/2)} {
		if !IsText(s) {
			t.Errorf("%.20q is refused", s)
		}
	}
	for _, s := range []string{"", "a\x00", "\xff", strings.Repeat("n", MaxText+1)} {
		if IsText(s) {
			t.Errorf("%.20q is allowed", s)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{"", `""`},
		{"a\x00b", `"a\x00b"`},
		{-1, "-1"},
		{nil, "<nil>"},
		{time.Minute, "1m0s"},
		{strings.Repeat("x", 64), `"` + strings.Repeat("x", 64) + `"`},
		{strings.Repeat("x", 65), `"` + strings.Repeat("x", 64) + `…"`},
		{"x" + strings.Repeat("ä", 40), `"x` + strings.Repeat("ä", 31) + `…"`}, // no half of a letter
	} {
		if got := Describe(c.value); got != c.want {
			t.Errorf("%v is %s, want %s", c.value, got, c.want)
		}
	}
}
