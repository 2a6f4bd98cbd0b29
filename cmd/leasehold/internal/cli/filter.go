//go:build unix

package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/leasehold-go/leasehold"
)

// filter says which entries of a listing are shown. The engine looks at kind and prefix, the command at the rest.
type filter struct {
	kind   choice
	prefix string
	match  glob
	holder string
	waited bool
}

// query asks for no less than what is shown.
func (f *filter) query() leasehold.Query {
	q := leasehold.Query{Kind: kinds[f.kind.word], Prefix: f.prefix}
	if strings.HasPrefix(f.match.literal, f.prefix) {
		q.Prefix = f.match.literal
	}
	return q
}

// shows reports whether an entry that the query has matched is shown.
func (f *filter) shows(s leasehold.Status) bool {
	holds := func(h leasehold.Holder) bool { return strings.Contains(h.Holder, f.holder) }
	return f.match.matches(s.Name) && strings.HasPrefix(s.Name, f.prefix) && (!f.waited || s.Waiting > 0) &&
		(f.holder == "" || slices.ContainsFunc(s.Holders, holds))
}

// glob is the value of a flag: a pattern as in a shell, except that a slash is a letter like any other. The zero glob matches everything.
type glob struct {
	text    string
	literal string // what every match begins with
	pattern *regexp.Regexp
}

var errGlob = errors.New(`it must be a pattern in which * stands for any text, ? for a letter, and [a-z] for one of several, as in "order:*"`)

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
			n := class(&b, rest)
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
		return errGlob // a range that ends before it begins
	}
	*g = glob{text: text, literal: literal, pattern: pattern}
	return nil
}

// class translates "[a-z]" or "[!a-z]" at the beginning of text, and returns how far away its end is, or 0 if it has none.
func class(b *strings.Builder, text []rune) int {
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
