//go:build unix

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"

	"github.com/leasehold-go/leasehold/internal/redisserver"
)

// demoCase is the part of a case's JSON that tests check.
type demoCase struct {
	Case          string
	Without, With struct {
		Lost  int `json:"lost_updates"`
		Hung  int
		Lanes []struct {
			Name, Kind string
			Spans      []struct{ During string }
			Marks      []struct{ What, Text string }
		}
	}
}

type demoOutput struct {
	Seed  uint64
	Real  bool
	Cases []demoCase
}

// letters returns the letters of the cases in the output.
func (p demoOutput) letters() (letters string) {
	for _, c := range p.Cases {
		letters += c.Case
	}
	return letters
}

func TestDemo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.do("demo").want(t, 0)
	for _, want := range []string{"a  SETNX", "g  The answer", "two at once", "refused: token 1, seen 2",
		"\nLOST UPDATES ", " hangs    0\n", " 1        0\n", "\nSimulated in virtual time"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(r.out, "\x1b") || r.err != "" {
		t.Errorf("colours in a file, or messages: %q", r.err)
	}
	if left, err := os.ReadDir(m.home); err != nil || len(left) > 0 {
		t.Errorf("it has left something behind: %v (%v)", left, err)
	}
}

func TestDemoIsTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, form := range [][]string{nil, {"-o", "json"}} {
		do := func(seed string) string {
			return m.do(append([]string{"demo", "--seed", seed}, form...)...).want(t, 0).out
		}
		first, again := do("18446744073709551615"), do("18446744073709551615")
		if first != again {
			t.Errorf("%v: not the same twice", form)
		}
		if do("2") == do("3") {
			t.Errorf("%v: two seeds make the same", form)
		}
		if m.do(append([]string{"demo"}, form...)...).out != do("1") {
			t.Errorf("%v: the default is not seed 1", form)
		}
	}
}

func TestDemoAsJSON(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.do("demo", "-o", "json", "--seed", "5").want(t, 0)
	if strings.Count(r.out, "\n") != 1 {
		t.Errorf("the JSON is not one line")
	}
	d := decode[demoOutput](t, r)
	if d.Seed != 5 || d.Real || d.letters() != "abcdefg" {
		t.Errorf("seed %d, real %v, cases %s", d.Seed, d.Real, d.letters())
	}
	for _, c := range d.Cases {
		if c.Without.Lost+c.Without.Hung == 0 || c.With.Lost+c.With.Hung != 0 {
			t.Errorf("case %s: %+v, %+v", c.Case, c.Without, c.With)
		}
		for _, l := range append(c.Without.Lanes, c.With.Lanes...) {
			if l.Name == "" || l.Kind == "" || l.Spans == nil || l.Marks == nil {
				t.Errorf("case %s has the lane %+v", c.Case, l)
			}
		}
	}
	if d := decode[demoOutput](t, m.do("demo", "-o", "json", "g", "c", "g").want(t, 0)); d.letters() != "gc" {
		t.Errorf("g, c and g are %s", d.letters())
	}
}

func TestDemoAsSVG(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.do("demo", "--svg", "all.svg").want(t, 0)
	text, err := os.ReadFile(filepath.Join(m.home, "all.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, letter := range strings.Split("abcdefg", "") {
		if !strings.Contains(string(text), `id="case-`+letter+`"`) {
			t.Errorf("case %s is not in the picture", letter)
		}
	}
	if r := m.do("demo", "c", "--svg", filepath.Join(m.home, "no", "such", "folder.svg")).want(t,
		64); !strings.Contains(r.err, "folder.svg") {
		t.Errorf("a file that cannot be written: %q", r.err)
	}
}

// The pictures in the documents are those that the command makes.
func TestPicturesOfTheDocuments(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for file, args := range map[string][]string{"demo.svg": {"demo"}, "demo-pause.svg": {"demo", "c"}} {
		m.do(append(args, "--svg", file)...).want(t, 0)
		made, err := os.ReadFile(filepath.Join(m.home, file))
		if err != nil {
			t.Fatal(err)
		}
		if there, err := os.ReadFile(filepath.Join("../../docs/pictures", file)); err != nil ||
			string(there) != string(made) {
			t.Errorf("docs/pictures/%s is not what the command makes (%v): run make demo", file, err)
		}
	}
}

func TestDemoOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	wide := func(env ...string) (out string, colors bool) {
		c := m.command("demo", "c")
		c.Env = append(c.Env, env...)
		tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 50, Cols: 90})
		if err != nil {
			t.Fatal(err)
		}
		defer tty.Close()
		for l := range read(tty) {
			out += l + "\n"
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		return out, strings.Contains(out, "\x1b[31m")
	}
	out, colors := wide("TERM=xterm")
	if !colors {
		t.Error("there are no colours on a terminal")
	}
	longest := 0
	for line := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(out, "")) {
		longest = max(longest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	if longest != 90 {
		t.Errorf("the longest line has %d letters on a terminal of 90", longest)
	}
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		if _, colors := wide(env); colors {
			t.Errorf("there are colours with %s", env)
		}
	}
}

func TestDemoInALocaleWithoutLetters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   []string
		ascii bool
	}{
		{nil, false},
		{[]string{"LANG=C"}, true},
		{[]string{"LANG=de_DE.UTF-8"}, false},
		{[]string{"LC_ALL=POSIX", "LANG=de_DE.UTF-8"}, true},
		{[]string{"LC_CTYPE=C.utf8", "LANG=C"}, false},
	} {
		m := newMachine(t)
		m.env = append(m.env, c.env...)
		r := m.do("demo").want(t, 0)
		ascii := strings.IndexFunc(r.out, func(r rune) bool { return r > '~' }) < 0
		if ascii != c.ascii {
			t.Errorf("%v: ASCII %v", c.env, ascii)
		}
	}
}

func TestDemoOnRealServers(t *testing.T) {
	t.Parallel()
	redisserver.ForTest(t, redisserver.Config{}) // skips the test if there is no Redis
	m := newMachine(t)
	m.env = append(m.env, "TMPDIR="+m.home)
	d := decode[demoOutput](t, m.do("demo", "--real", "c", "-o", "json").want(t, 0))
	if !d.Real || len(d.Cases) != 1 || d.Cases[0].Without.Lost == 0 || d.Cases[0].With.Lost != 0 {
		t.Errorf("ran %+v", d)
	}
	if left, err := os.ReadDir(m.home); err != nil || len(left) > 0 {
		t.Errorf("it has left something behind: %v (%v)", left, err)
	}
}

// A signal ends the servers as well.
func TestDemoOnRealServersIsInterrupted(t *testing.T) {
	t.Parallel()
	redisserver.ForTest(t, redisserver.Config{})
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		m := newMachine(t)
		folder := t.TempDir()
		m.env = append(m.env, "TMPDIR="+folder)
		p := m.start("demo", "--real")
		servers := func() []string {
			found, err := filepath.Glob(filepath.Join(folder, "redis-*", "redis.conf"))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		m.until("the servers", func() bool { return len(servers()) >= 5 })
		p.signal(s)
		p.remaining()
		if r := p.wait().want(t, 128+int(s)); r.err != "" {
			t.Errorf("it says %q", r.err)
		}
		if left := servers(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestDemoWithoutRedis(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env[1] = "PATH=" + m.home
	r := m.do("demo", "--real").want(t, 69)
	if !strings.Contains(r.err, "--real needs redis-server") ||
		!strings.Contains(r.err, "apt-get install redis-server") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("stderr %q", r.err)
	}
	m.do("demo").want(t, 0)
}

// Output that cannot be written is an error.
func TestDemoOnAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /dev/full")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, form := range []string{"table", "json"} {
		c := newMachine(t).command("demo", "-o", form)
		c.Stdout = full
		if err := c.Run(); err == nil {
			t.Errorf("-o %s: success", form)
		}
	}
}
