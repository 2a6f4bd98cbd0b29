package leasehold

import (
	"strings"
	"testing"
)

// Hosts and programs may have any names.
func TestHolderTextsAreSingleWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "unknown",
		"billing":                  "billing",
		"my program.exe":           "my_program.exe",
		" a\tb\n":                  "_a_b_",
		"a\u00a0b\u2003c":          "a_b_c",
		"a\x00b\x1b[31m":           "a_b_[31m",
		"a\u202eb\u200bc\x7f":      "a_b_c_",
		"überholt":                 "überholt",
		"a\xffb":                   "a\ufffdb",
		strings.Repeat("x", 255):   strings.Repeat("x", 255),
		strings.Repeat("x", 256):   "unknown",
		strings.Repeat("\xff", 99): "unknown",
		"a:b":                      "a:b",
	} {
		got := singleWord(text)
		if got != want || !validText(got) {
			t.Errorf("%.20q is %.20q, want %.20q", text, got, want)
		}
		p := Process{Host: got, PID: 7, Program: got}
		if back, ok := ParseHolder(p.String()); !ok || back != p {
			t.Errorf("%q is read as %+v, %v", p, back, ok)
		}
		if text := p.String(); !validText(text) {
			t.Errorf("%q cannot be the text of a holder", text)
		}
	}
}
