package redissonwire

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// file is a file of calls and of what they did.
type file struct {
	path  string
	head  []string // its comments and empty lines
	open  []opening
	parts []*part
}

// opening is a client that is opened at first.
type opening struct {
	line    string
	client  string
	options map[string]string
}

// part is what begins with an empty server.
type part struct {
	title string
	since string // the oldest version of Redisson that has it, or ""
	steps []*step
}

// step is a step of a part, and what it did.
type step struct {
	line  string
	notes []string // comments in front of it
	did   []string
}

var titles = regexp.MustCompile(`^== (.*?)( \(since ([0-9.]+)\))?$`)

// parse reads a file.
func parse(path string) (*file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path}
	var p *part
	var notes []string
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		switch title := titles.FindStringSubmatch(line); {
		case title != nil:
			p = &part{title: title[1], since: title[3]}
			f.parts = append(f.parts, p)
		case p == nil && strings.HasPrefix(line, "open "):
			o, err := parseOpening(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
			}
			f.open = append(f.open, o)
		case p == nil && (line == "" || strings.HasPrefix(line, "#")):
			f.head = append(f.head, line)
		case line == "":
		case p != nil && strings.HasPrefix(line, "#"):
			notes = append(notes, line)
		case p != nil && strings.HasPrefix(line, "> "):
			p.steps = append(p.steps, &step{line: strings.TrimPrefix(line, "> "), notes: notes})
			notes = nil
		case p != nil && len(p.steps) > 0:
			last := p.steps[len(p.steps)-1]
			last.did = append(last.did, line)
		default:
			return nil, fmt.Errorf("%s:%d: a line that belongs to no step: %q", path, i+1, line)
		}
	}
	return f, nil
}

func parseOpening(line string) (opening, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return opening{}, errors.New("the form is: open CLIENT, and OPTION=VALUE for each option")
	}
	o := opening{line: line, client: words[1], options: map[string]string{}}
	for _, w := range words[2:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return opening{}, fmt.Errorf("%q is not OPTION=VALUE", w)
		}
		o.options[key] = value
	}
	return o, nil
}

// write writes the file with what its steps did.
func (f *file) write() error {
	var b strings.Builder
	for _, line := range f.head {
		fmt.Fprintln(&b, line)
	}
	for _, o := range f.open {
		fmt.Fprintln(&b, o.line)
	}
	for _, p := range f.parts {
		fmt.Fprintf(&b, "\n== %s", p.title)
		if p.since != "" {
			fmt.Fprintf(&b, " (since %s)", p.since)
		}
		fmt.Fprintln(&b)
		for _, s := range p.steps {
			fmt.Fprintln(&b)
			for _, line := range s.notes {
				fmt.Fprintln(&b, line)
			}
			fmt.Fprintln(&b, "> "+s.line)
			for _, line := range s.did {
				fmt.Fprintln(&b, line)
			}
		}
	}
	return os.WriteFile(f.path, []byte(b.String()), 0o644)
}

// olderThan reports whether a version such as 3.52.0 is older than another one.
func olderThan(version, other string) bool {
	a, b := strings.Split(version, "."), strings.Split(other, ".")
	for i := range min(len(a), len(b)) {
		x, _ := strconv.Atoi(a[i]) // both are versions
		y, _ := strconv.Atoi(b[i])
		if x != y {
			return x < y
		}
	}
	return len(a) < len(b)
}
