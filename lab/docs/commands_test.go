//go:build unix

package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mostCommandsLeftOut is how many blocks of commands may be left out.
const mostCommandsLeftOut = 1

// The commands in the documents run, page by page and from top to bottom, as a reader would run them: in a home folder
// of his own, on a terminal.
func TestCommandsOfTheDocuments(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var tested int
	var leftOut []block
	t.Run("pages", func(t *testing.T) {
		for _, page := range pages(t) {
			blocks := blocksOf(t, page, "sh", "console")
			if len(blocks) == 0 {
				continue
			}
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				r := newReader(t)
				for _, b := range blocks {
					mu.Lock()
					if b.leftOut != "" {
						leftOut = append(leftOut, b)
					} else {
						tested++
					}
					mu.Unlock()
					if b.leftOut == "" {
						t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) { r.run(t, b) })
					}
				}
			})
		}
	})
	report(t, tested, leftOut, mostCommandsLeftOut)
}

// commands returns what a reader types: all of a block in sh, and of a console what follows the prompts.
func (b block) commands() string {
	if b.language == "sh" {
		return b.text
	}
	var typed strings.Builder
	for line := range strings.Lines(b.text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			typed.WriteString(command)
		}
	}
	return typed.String()
}

// heading returns the heading of a table that a console shows, or "".
func (b block) heading() string {
	for line := range strings.Lines(b.text) {
		if b.language == "console" && tableHeading.MatchString(line) {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

var tableHeading = regexp.MustCompile(`^[A-Z]{2,}(  +[A-Z ]+)+$`)

// run runs a block on a terminal, and fails the test unless it succeeds.
func (r *reader) run(t *testing.T, b block) {
	t.Helper()
	script := r.prepare(t, b.commands())
	s := startOnTerminal(t, r.shell(script))
	for _, a := range answers {
		if strings.Contains(script, a.to) {
			s.enter(a.answer)
		}
	}
	for _, serving := range servers {
		if strings.Contains(script, serving.command) {
			s.await(serving.ready)
			s.enter("\x03") // Ctrl-C
		}
	}
	code, output := s.end()
	if !expected(script, code) {
		t.Errorf("%s: exit code %d:\n%s\n%s", b, code, script, output)
	}
	if want := b.heading(); !strings.Contains(strings.Join(strings.Fields(output), " "), want) {
		t.Errorf("%s: there is no %q in:\n%s", b, want, output)
	}
	if strings.Contains(output, "not found") {
		t.Errorf("%s: something is missing:\n%s", b, output)
	}
}

// answers are what a reader types when a command asks.
var answers = []struct{ to, answer string }{
	{"release --force", "y\n"},
	{"etcdctl user add", "geheim\ngeheim\n"},
}

type server struct {
	command string
	ready   *regexp.Regexp
}

// servers are commands that run until a reader ends them.
var servers = []server{
	{"leasehold exporter", regexp.MustCompile(`serves http://`)},
	{"leasehold watch", regexp.MustCompile(`held`)},
}

// expected reports whether the exit code is one of those that the documents tell of for this script.
func expected(script string, code int) bool {
	switch {
	case strings.Contains(script, "leasehold doctor"):
		return 0 <= code && code <= 2 // as bad as the worst finding
	case slices.ContainsFunc(servers, func(s server) bool { return strings.Contains(script, s.command) }):
		return code == 0 || code == 130 || code == -1 // ended by SIGINT, or its shell
	default:
		return code == 0
	}
}
