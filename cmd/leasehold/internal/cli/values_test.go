//go:build unix

package cli

import (
	"testing"
	"time"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30": 30 * time.Second, "1.5": 1500 * time.Millisecond, "2m30s": 150 * time.Second,
	} {
		var p period
		if err := p.Set(text); err != nil || time.Duration(p) != want {
			t.Errorf("%q became %s, %v; want %s", text, time.Duration(p), err, want)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-1s", "NaN", "Inf", "1e300", "1 s"} {
		var p period
		if err := p.Set(text); err == nil || p != 0 {
			t.Errorf("%q became %s", text, time.Duration(p))
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"order:1001":       "order:1001",
		"Straße 東京":        "Straße 東京",
		"a\nb\tc\x1b[31m":  `a\nb\tc\x1b[31m`,
		"\u202eright-left": `\u202eright-left`,
		"back\\slash":      `back\slash`,
		"\u009b31m":        `\u009b31m`,
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
