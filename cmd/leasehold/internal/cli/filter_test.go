//go:build unix

package cli

import (
	"testing"

	"github.com/leasehold-go/leasehold/admin"
	"github.com/leasehold-go/leasehold/driver"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, literal string
		yes, no       []string
	}{
		{"order:*", "order:", []string{"order:", "order:1", "order:a/b\nc"}, []string{"xorder:1", "order", "Order:1"}},
		{"a?c", "a", []string{"abc", "aßc", "a/c"}, []string{"ac", "abbc"}},
		{"*[0-9]", "", []string{"x1", "9"}, []string{"1x", ""}},
		{"[!a-c]x", "", []string{"dx", "!x"}, []string{"ax", "x"}},
		{"[]^-]", "", []string{"]", "^", "-"}, []string{"a"}},
		{`a\*b`, "a", []string{"a*b"}, []string{"axb", `a\*b`}},
		{"a.b+(c)", "a.b+(c)", []string{"a.b+(c)"}, []string{"axb+(c)"}},
		{"", "", []string{""}, []string{"a"}},
	} {
		var g glob
		if err := g.Set(c.glob); err != nil || g.literal != c.literal || g.String() != c.glob {
			t.Errorf("%q: %v, it begins with %q", c.glob, err, g.literal)
		}
		for _, name := range c.yes {
			if !g.matches(name) {
				t.Errorf("%q does not match %q", c.glob, name)
			}
		}
		for _, name := range c.no {
			if g.matches(name) {
				t.Errorf("%q matches %q", c.glob, name)
			}
		}
	}
	for _, text := range []string{"[", "[a", "[]", "[!]", `a\`, "[z-a]"} {
		var g glob
		if err := g.Set(text); err == nil || g.pattern != nil {
			t.Errorf("%q is a pattern", text)
		}
	}
	if !(&glob{}).matches("anything") {
		t.Error("no pattern does not match everything")
	}
}

// The engine is asked for as little as both flags allow, and for no less.
func TestFilterAsksTheEngineForAPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, match, asked string }{
		{"", "", ""}, {"order:", "", "order:"}, {"", "order:1*", "order:1"}, {"order:", "order:1*", "order:1"},
		{"order:1", "order:*", "order:1"}, {"order:", "user:*", "order:"},
	} {
		f := filter{prefix: c.prefix}
		if c.match != "" {
			if err := f.match.Set(c.match); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.query().Prefix; got != c.asked {
			t.Errorf("--prefix %q --match %q asks for %q, want %q", c.prefix, c.match, got, c.asked)
		}
		name := driver.Key{Kind: driver.Lock, Name: "order:17"}
		if got, want := f.shows(admin.Status{Key: name}), c.match != "user:*"; got != want {
			t.Errorf("--prefix %q --match %q shows order:17: %v", c.prefix, c.match, got)
		}
	}
}
