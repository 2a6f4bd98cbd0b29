package redis

import (
	"regexp"
	"slices"
	"testing"
)

// Scripts are cut at words of capital letters, which stand for constants.
func TestPartsOfScripts(t *testing.T) {
	t.Parallel()
	texts := []string{"", "A", "a", "AB c DE", "aB Ba A1 1A _A A_ A", "A,B.C\nD", "éA Aé"}
	for _, source := range sources {
		texts = append(texts, whole(*source))
	}
	word := regexp.MustCompile(`\b[A-Z]+\b`)
	for _, text := range texts {
		var want []string
		at := 0
		for _, place := range word.FindAllStringIndex(text, -1) {
			want = append(want, text[at:place[0]], text[place[0]:place[1]])
			at = place[1]
		}
		if want = append(want, text[at:]); !slices.Equal(parts(text), want) {
			t.Errorf("%.60q is cut into %q", text, parts(text))
		}
	}
}
