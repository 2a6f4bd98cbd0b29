//go:build unix

package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold/admin"
)

// filter selects entries of a listing. The engine filters by kind and prefix, the command by the rest.
type filter struct {
	kind   choice
	prefix string
	match  glob
	holder string
	waited bool
}

// query returns a query that matches at least what the filter shows.
func (f *filter) query() admin.Query {
	q := admin.Query{Kind: kinds[f.kind.value], Prefix: f.prefix}
	if strings.HasPrefix(f.match.literal, f.prefix) {
		q.Prefix = f.match.literal
	}
	return q
}

// shows reports whether the filter shows an entry that its query has matched.
func (f *filter) shows(s admin.Status) bool {
	holds := func(h admin.Holder) bool { return strings.Contains(h.Holder, f.holder) }
	return f.match.matches(s.Name) && strings.HasPrefix(s.Name, f.prefix) && (!f.waited || s.Waiting > 0) &&
		(f.holder == "" || slices.ContainsFunc(s.Holders, holds))
}

// glob is a flag's value: a pattern as in a shell, except that a slash is an ordinary letter. The zero glob matches
// everything.
type glob struct {
	text    string
	literal string // the beginning of every match
	pattern *regexp.Regexp
}

var errGlob = errors.New(mustBe + `a pattern in which * stands for any text, ? for a letter, ` +
	`and [a-z] for one of several, as in "order:*"`)

// Set implements pflag.Value.
func (g *glob) Set(text string) error {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	literal := text
	if i := strings.IndexAny(text, `*?[\`); i >= 0 {
		literal = text[:i]
	}
	b.WriteString(regexp.QuoteMeta(literal))
	for rest := []rune(text[len(literal):]); len(rest) > 0; rest = rest[1:] {
		switch r := rest[0]; {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteByte('.')
		case r == '[':
			n := writeClass(&b, rest)
			if n == 0 {
				return errGlob
			}
			rest = rest[n:]
		case r == '\\' && len(rest) == 1:
			return errGlob
		case r == '\\':
			rest = rest[1:]
			fallthrough
		default:
			b.WriteString(regexp.QuoteMeta(string(rest[:1])))
		}
	}
	pattern, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return errGlob // a range whose end is before its beginning
	}
	*g = glob{text: text, literal: literal, pattern: pattern}
	return nil
}

// writeClass translates "[a-z]" or "[!a-z]" at the beginning of text. It returns the index of its last letter, or 0 if
// the class is not closed.
func writeClass(b *strings.Builder, text []rune) int {
	inside := 1
	b.WriteByte('[')
	if len(text) > 1 && (text[1] == '!' || text[1] == '^') {
		b.WriteByte('^')
		inside = 2
	}
	for i := inside; i < len(text); i++ {
		switch r := text[i]; {
		case r == ']' && i > inside:
			b.WriteByte(']')
			return i
		case r == '-':
			b.WriteByte('-')
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return 0
}

func (g *glob) String() string { return g.text }

// Type implements pflag.Value.
func (g *glob) Type() string { return "GLOB" }

func (g *glob) matches(name string) bool { return g.pattern == nil || g.pattern.MatchString(name) }
