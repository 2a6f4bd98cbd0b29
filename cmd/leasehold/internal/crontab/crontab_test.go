package crontab

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// readFake reads words that begin with dashes as flags, and refuses --bad.
func readFake(name string, when, words []string) (Options, error) {
	o := Options{Run: when}
	for _, w := range words {
		if w == "--bad" {
			return o, errors.New("bad")
		}
		if !strings.HasPrefix(w, "--") {
			break
		}
		o.Words++
		o.Run = append(o.Run, w)
	}
	return o, nil
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "# x\n\n \t\n": "",
		"0 3 * * * a run it":             "1 a [--schedule=0 3 * * * --zone=UTC] [] /bin/sh: run it",
		"\t0 3  * *\t* a\trun  it":       "1 a [--schedule=0 3 * * * --zone=UTC] [] /bin/sh: run  it",
		"@daily a x\r":                   "1 a [--schedule=@daily --zone=UTC] [] /bin/sh: x",
		"@every 90s a x | y 'z  z'":      "1 a [--every=90s] [] /bin/sh: x | y 'z  z'",
		"@daily a --x --y=1  x --z":      "1 a [--schedule=@daily --zone=UTC --x --y=1] [] /bin/sh: x --z",
		"@daily a date +%F # no comment": "1 a [--schedule=@daily --zone=UTC] [] /bin/sh: date +%F # no comment",
		"A=1\nCRON_TZ = Mars\n@daily a x\nSHELL='/bin/my shell'\n@daily b y": "" +
			"3 a [--schedule=@daily --zone=Mars] [A=1] /bin/sh: x\n" +
			"5 b [--schedule=@daily --zone=Mars] [A=1 SHELL=/bin/my shell] /bin/my shell: y",
		"0 3 * *":                 "line 1: the schedule has fewer than five fields",
		"\n@every 5m":             "line 2: NAME and COMMAND are missing",
		"@daily a --x":            `line 1: COMMAND is missing behind NAME "a"`,
		"@daily a --bad x":        "line 1: bad",
		"@daily a x\n@hourly a y": `line 2: the name "a" is that of line 1`,
		"MAILTO=me":               "line 1: MAILTO is not supported",
	} {
		jobs, err := Parse(text, readFake)
		var got []string
		for _, j := range jobs {
			got = append(got, fmt.Sprintf("%d %s %v %v %s: %s", j.Line, j.Name, j.Run, j.Env, j.Shell(), j.Command))
		}
		switch {
		case strings.HasPrefix(want, "line "):
			if e, is := errors.AsType[*Error](err); !is || !strings.HasPrefix(e.Error(), want) {
				t.Errorf("%q: %v, %v, want %s", text, got, err, want)
			}
		case err != nil || strings.Join(got, "\n") != want:
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
