//go:build unix

package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// typed is a password that stands on a command line here. Tests that look whether theirs does see the processes of all tests.
const typed = "ty@heim/%?#"

// secured is a server with a password, and its URL without.
func secured(t *testing.T) (m *machine, with, without string) {
	t.Helper()
	s := redisserver.ForTest(t, redisserver.Config{Password: typed})
	rest := s.Addr() + "?" + unguarded
	return newMachine(t), "redis://" + url.UserPassword("", typed).String() + "@" + rest, "redis://" + rest
}

// CMD does not get passwords of the engine, wherever this process has them from; whatever else it was to find it finds.
func TestPasswordsOfTheEngineAreKeptFromThePrograms(t *testing.T) {
	t.Parallel()
	m, with, without := secured(t)
	file := filepath.Join(m.home, "password")
	if err := os.WriteFile(file, []byte(typed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		env  []string
		args []string
		kept string
	}{
		"in the URL":          {with, []string{"PGPASSWORD=of-others"}, nil, "LEASEHOLD_ENGINE"},
		"in a variable":       {without, []string{"LEASEHOLD_REDIS_PASSWORD=" + typed}, nil, "LEASEHOLD_REDIS_PASSWORD"},
		"of another engine":   {with, []string{"LEASEHOLD_ETCD_PASSWORD=" + typed}, nil, "LEASEHOLD_ENGINE LEASEHOLD_ETCD_PASSWORD"},
		"in a file":           {without, []string{"LEASEHOLD_REDIS_PASSWORD_FILE=" + file}, nil, ""},
		"on the command line": {without, nil, []string{"--engine", with}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{t: t, home: m.home, env: append(append([]string{}, m.env...), c.env...)}
			m.use(c.url)
			r := m.do(append(append([]string{"run"}, c.args...), "a", "--", "env")...).want(t, 0)
			kept := ""
			for line := range strings.Lines(r.out) {
				if text, is := strings.CutPrefix(line, "LEASEHOLD_WITHHELD="); is {
					kept = strings.TrimSpace(text)
				}
			}
			if strings.Contains(r.out, typed) || kept != c.kept {
				t.Errorf("CMD finds, without %q:\n%s", kept, r.out)
			}
			for _, set := range c.env {
				if !strings.Contains(set, typed) && !strings.Contains(r.out, set+"\n") {
					t.Errorf("CMD does not find %s", set)
				}
			}
			if !strings.Contains(r.out, "LEASEHOLD_ENGINE="+without+"\n") {
				t.Errorf("CMD does not find where locks are:\n%s", r.out)
			}
			r = m.do(append(append([]string{"run", "--pass-engine"}, c.args...), "a", "--", "env")...).want(t, 0)
			for _, set := range append(c.env, "LEASEHOLD_ENGINE="+map[bool]string{true: with, false: c.url}[len(c.args) > 0]) {
				if !strings.Contains(r.out, set+"\n") || strings.Contains(r.out, "WITHHELD") {
					t.Errorf("with --pass-engine CMD does not find %s:\n%s", set, r.out)
				}
			}
		})
	}
}

// A run inside of a run uses the same engine, or fails and says why.
func TestRunInsideOfARunWithAPassword(t *testing.T) {
	t.Parallel()
	m, with, without := secured(t)
	m.use(with)
	inner := []string{"--", binary, "run", "b", "--", "echo", "ran"}
	if r := m.do(append([]string{"run", "a"}, inner...)...).want(t, 69).wantNoSecret(t); r.out != "" || !strings.Contains(r.err, "--pass-engine") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	if r := m.do(append([]string{"run", "--pass-engine", "a"}, inner...)...).want(t, 0); r.out != "ran\n" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	if r := m.do("run", "--pass-engine", "a", "--", binary, "run", "a", "--", "echo", "ran").want(t, 75); !strings.Contains(r.err, "around this one") {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	m.use(without)
	if r := m.do("ls").want(t, 69); strings.Contains(r.err, "--pass-engine") {
		t.Errorf("stderr %q", r.err)
	}
}

// The URL may come from where nobody sees it who looks at the words of processes.
func TestEngineIsReadFromAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	m, with, _ := secured(t)
	file, pipe := filepath.Join(m.home, "engine"), filepath.Join(m.home, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte(with+"\n"), 0o600), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	m.do("--engine", "@"+file, "run", "a", "--", "true").want(t, 0)
	m.use("@"+file).do("run", "a", "--", "true").want(t, 0)
	p := m.start("--engine", "-", "run", "a", "--", "cat")
	if _, err := p.in.WriteString(with + "\nfor CMD\n"); err != nil {
		t.Fatal(err)
	}
	if got := p.line(); got != "for CMD" {
		t.Errorf("CMD read %q", got)
	}
	p.in.Close()
	p.wait().want(t, 0)
	p = m.start("--engine", "-", "run", "a", "--", "cat")
	p.in.Close()
	p.wait().want(t, 64)
	for path, code := range map[string]int{"@" + file + "x": 64, "@" + m.home: 64} {
		if r := m.do("--engine", path, "ls").want(t, code); !strings.Contains(r.err, path[1:]) {
			t.Errorf("stderr %q", r.err)
		}
	}
	p = m.start("--engine", "@"+pipe, "run", "a", "--", "true") // waits for whoever writes it
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.signal(unix.SIGTERM)
	p.wait().want(t, 128+15)
	w.Close()
}
