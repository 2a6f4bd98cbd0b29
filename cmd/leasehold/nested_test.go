//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestRunInsideOfARun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "LH="+binary)
	held := "is held by a run around this one"
	for _, c := range []struct {
		name  string
		outer string
		inner []string
		code  int
		says  string
	}{
		{"another name", "a", []string{"b"}, 0, ""},
		{"permits of the same name", "a", []string{"--slots", "1", "a"}, 0, ""},
		{"the same name", "a", []string{"a"}, 75, held},
		{"without waiting", "a", []string{"-n", "a"}, 75, held},
		{"with a limit", "a", []string{"-w", "1h", "a"}, 75, held},
		{"with a code of one's own", "a", []string{"-E", "9", "a"}, 9, held},
		{"nobody else does it", "a", []string{"--skip-ok", "a"}, 75, held},
		{"behind another name", "a", []string{"b", "--", binary, "run", "a"}, 75, held},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"run", c.outer, "--", binary, "run"}, c.inner...)
			r := m.do(append(args, "--", "echo", "ran")...).want(t, c.code)
			if ran := r.out == "ran\n"; ran != (c.code == 0) || !strings.Contains(r.err, c.says) ||
				c.says == "" && r.err != "" {
				t.Errorf("stdout %q, stderr %q", r.out, r.err)
			}
		})
	}
}

// The inherited variable counts only as far as the engine says the same.
func TestRunInsideOfARunOnAnotherEngine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, engine := range map[string]string{
		"another one": "sqlite:" + m.home + "/other.db",
		"the same, in another spelling": "sqlite:" + m.home + "/../" + m.home[strings.LastIndex(m.home,
			"/")+1:] + "/locks.db",
	} {
		t.Run(name, func(t *testing.T) {
			code := 75
			if name == "another one" {
				// The next token of both engines is the same.
				m.do("run", "--engine", engine, "a", "--", "true").want(t, 0)
				m.do("run", "a", "--", "true").want(t, 0)
				code = 0
			}
			m.do("run", "a", "--", binary, "run", "--engine", engine, "a", "--", "true").want(t, code)
		})
	}
}

func TestVariableThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "LEASEHOLD_HELD=everything")
	if r := m.do("run", "a", "--", "echo", "must not run").want(t, 64); r.out != "" ||
		!strings.Contains(r.err, "LEASEHOLD_HELD") || strings.Contains(r.err, "everything") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
}
