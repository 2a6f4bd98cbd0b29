package redis

import (
	"regexp"
	"slices"
	"testing"
)

// Scripts are split at words of capital letters and underscores, which stand for constants.
func TestScriptsAreSplitAtConstants(t *testing.T) {
	t.Parallel()
	texts := []string{"", "A", "a", "AB c DE", "aB Ba A1 1A _A A_ A A_B A__ __ A_b a_B A_1", "A,B.C\nD", "éA Aé"}
	for _, source := range scriptSources {
		texts = append(texts, expand(*source))
	}
	word := regexp.MustCompile(`\b[A-Z][A-Z_]*\b`)
	for _, text := range texts {
		var want []string
		at := 0
		for _, match := range word.FindAllStringIndex(text, -1) {
			want = append(want, text[at:match[0]], text[match[0]:match[1]])
			at = match[1]
		}
		if want = append(want, text[at:]); !slices.Equal(splitConstants(text), want) {
			t.Errorf("%.60q is split into %q", text, splitConstants(text))
		}
	}
}

// In scripts, words of capital letters are constants; variables have other names.
func TestCapitalsInScriptsAreConstants(t *testing.T) {
	t.Parallel()
	c := config{prefix: DefaultPrefix, guard: true}
	noCode := regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|--.*`)
	word := regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)
	for i, text := range c.newScriptSet("server", true).text {
		for _, found := range word.FindAllString(noCode.ReplaceAllString(text, ""), -1) {
			if found != "KEYS" && found != "ARGV" {
				t.Errorf("script %d: %s is not replaced by a value", i, found)
			}
		}
	}
}
