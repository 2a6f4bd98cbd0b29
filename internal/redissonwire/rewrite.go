package redissonwire

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Deviation is a difference in what scripts write, on purpose.
type Deviation struct {
	Why  string
	Of   string // "= true" or the like: only in steps with this result. Default: in all
	Line string // a pattern for parts of lines, of Redisson or of ours
	To   string // what is left of such a part to compare. If the line is then empty, it is left out.
}

// Rewriter changes lines to what is compared of them: what commands write, in any order within a script, what they
// publish, and the keys that they leave.
type Rewriter struct {
	Kinds      string // of lines that are compared, by their first characters
	deviations []Deviation
	patterns   []*regexp.Regexp
	used       []bool
}

// NewRewriter returns one that compares what commands write, messages and keys.
func NewRewriter(deviations []Deviation) *Rewriter {
	w := &Rewriter{Kinds: "wmk", deviations: deviations, used: make([]bool, len(deviations))}
	for _, d := range deviations {
		w.patterns = append(w.patterns, regexp.MustCompile(d.Line))
	}
	return w
}

// Rewrite is a value of Options.Rewrite.
func (w *Rewriter) Rewrite(lines []string) (left []string) {
	nothing := slices.Contains(lines, "= false")
	counts := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "w decr ") })
	tells := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "m ") })
	deletes := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "w del ") })
	isOf := make([]bool, len(w.deviations))
	for i, d := range w.deviations {
		isOf[i] = d.Of == "" || slices.Contains(lines, d.Of)
	}
	for _, line := range lines {
		if !strings.ContainsAny(line[:1], w.Kinds) {
			continue
		}
		// Of a lock or a latch that is free, or a latch that is at zero.
		if (nothing || counts && deletes && !tells) && strings.HasPrefix(line, "w de") {
			continue
		}
		for i, p := range w.patterns {
			if !isOf[i] {
				continue
			}
			changed := p.ReplaceAllString(line, w.deviations[i].To)
			w.used[i] = w.used[i] || changed != line
			line = changed
		}
		if line != "" {
			left = append(left, line)
		}
	}
	slices.Sort(left)
	return left
}

// CheckUsed checks that there is a line for each deviation.
func (w *Rewriter) CheckUsed(t *testing.T) {
	t.Helper()
	for i, d := range w.deviations {
		if !w.used[i] && !t.Failed() {
			t.Errorf("there is no line %s", d.Line)
		}
	}
}
