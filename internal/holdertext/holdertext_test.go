package holdertext

import (
	"strings"
	"testing"

	"github.com/leasehold-go/leasehold/internal/argument"
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
		if got != want || !argument.IsText(got) {
			t.Errorf("%.20q is %.20q, want %.20q", text, got, want)
		}
		p := Process{Host: got, PID: 7, Program: got}
		if back, ok := Parse(p.String()); !ok || back != p {
			t.Errorf("%q is read as %+v, %v", p, back, ok)
		}
		if text := p.String(); !argument.IsText(text) {
			t.Errorf("%q cannot be the text of a holder", text)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Process{
		"host-a:1 billing":         {Host: "host-a", PID: 1, Program: "billing"},
		"fe80::1:77 a.b":           {Host: "fe80::1", PID: 77, Program: "a.b"},
		"h:4194304 p order":        {Host: "h", PID: 4194304, Program: "p", Label: "order"},
		"h:1 p big orders of  two": {Host: "h", PID: 1, Program: "p", Label: "big orders of  two"},
		"h:1 p  a":                 {Host: "h", PID: 1, Program: "p", Label: " a"},
		"anna@h:1 p":               {User: "anna", Host: "h", PID: 1, Program: "p"},
		"anna@corp@h:1 p a b":      {User: "anna@corp", Host: "h", PID: 1, Program: "p", Label: "a b"},
		"h:1 p a\nb":               {Host: "h", PID: 1, Program: "p", Label: "a\nb"},
	} {
		if got, ok := Parse(text); !ok || got != want || got.String() != text {
			t.Errorf("%q is %+v, %v, and so %q; want %+v", text, got, ok, got.String(), want)
		}
	}
	for _, text := range []string{
		"", " ", ":", "a", "a b", "host:1", "host:1 ", "host:1  p", ":1 p", "h: p", "h:0 p", "h:-1 p", "h:+1 p",
		"h:01 p", "h:1x p", "h:1.5 p",
		"h:99999999999999999999 p", "h:1 p ", "host-a:1\tbilling", "h 1:1 p", "billing-3", "node 7",
		"\xff", "::", "h:１ p", "@h:1 p", "anna@:1 p",
	} {
		if got, ok := Parse(text); ok || got != (Process{}) {
			t.Errorf("%q is taken for %+v, %v", text, got, ok)
		}
	}
}

// The program of a job is shown without its folder, and nothing of it can be mistaken for another part.
func TestTextOfAJob(t *testing.T) {
	t.Parallel()
	p := OfJob("an na", "/usr/bin/my job", "nightly")
	if back, ok := Parse(p.String()); !ok || back != p || p.User != "an_na" || p.Program != "my_job" ||
		p.Host != Current().Host || p.PID != Current().PID {
		t.Errorf("%q is read as %+v, %v", p, back, ok)
	}
}

// Any text is either no process, or is the text of the process that it is parsed as.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"host-a:1 billing", "h:1 p a b", "h:+1 p", "h:1 p ", "::1 "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := Parse(text)
		if ok && (p.String() != text || p.Host == "" || p.PID < 1 || p.Program == "") ||
			!ok && p != (Process{}) {
			t.Errorf("%q is %+v, %v", text, p, ok)
		}
	})
}
