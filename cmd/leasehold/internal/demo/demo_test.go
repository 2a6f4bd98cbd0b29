package demo_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/screen"
)

// all returns all output for a seed.
func all(t *testing.T, seed uint64) string {
	t.Helper()
	var b bytes.Buffer
	var figures []draw.Figure
	for _, c := range cases.All {
		f := demo.Simulate(c, seed)
		figures = append(figures, f)
		if err := draw.Text(&b, screen.Screen{Width: 100}, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := draw.SVG(&b, figures); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&b).Encode(demo.JSON(seed, false, figures)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	seen := map[string]uint64{}
	for seed := range uint64(40) {
		first := all(t, seed)
		if all(t, seed) != first {
			t.Errorf("seed %d does not make the same twice", seed)
		}
		first = first[:strings.Index(first, "<svg")] // the JSON contains the seed
		if other, ok := seen[first]; ok {
			t.Errorf("seeds %d and %d make the same", seed, other)
		}
		seen[first] = seed
	}
}

// The seed determines how long clients work, not only how long leases last.
func TestSeedsVaryDurations(t *testing.T) {
	t.Parallel()
	for _, c := range cases.All {
		percents := map[time.Duration]bool{}
		for seed := range uint64(40) {
			r := demo.Simulate(c, seed).Without.Timeline
			percents[100*r.End/r.TTL] = true
		}
		if len(percents) < 10 {
			t.Errorf("case %s lasts %d different parts of its ttl", c.Letter, len(percents))
		}
	}
}

// Both sides of a case run the same program: what the plan of a client that starts at once says takes the same time on
// both.
func TestBothSidesHaveTheSamePlan(t *testing.T) {
	t.Parallel()
	for _, c := range cases.All {
		for seed := range uint64(20) {
			f := demo.Simulate(c, seed)
			if f.Without.TTL != f.With.TTL {
				t.Errorf("case %s, seed %d: leases of %v and %v", c.Letter, seed, f.Without.TTL, f.With.TTL)
			}
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	letters := func(args ...string) string {
		list, err := demo.Find(args)
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for _, c := range list {
			b.WriteString(c.Letter)
		}
		return b.String()
	}
	for want, args := range map[string][]string{
		"abcdefg": nil,
		"gc":      {"g", "c", "g"},
		`"x" is no case: there are a, b, c, d, e, f, g`: {"a", "x"},
		`"" is no case: there are a, b, c, d, e, f, g`:  {""},
	} {
		if got := letters(args...); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	figure := func(letter string, without, with timeline.Result) draw.Figure {
		return draw.Figure{Letter: letter, Without: draw.Side{Timeline: timeline.Timeline{Result: without}},
			With: draw.Side{Timeline: timeline.Timeline{Result: with}}}
	}
	figures := []draw.Figure{
		figure("a", timeline.Result{Lost: 1}, timeline.Result{}),
		figure("b", timeline.Result{}, timeline.Result{}),
		figure("c", timeline.Result{Lost: 1}, timeline.Result{Lost: 2}),
		figure("d", timeline.Result{Hung: 1}, timeline.Result{Hung: 1}),
	}
	if got := demo.Broken(figures); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("broken: %v", got)
	}
	if got := demo.Harmless(figures); !slices.Equal(got, []string{"b"}) {
		t.Errorf("harmless: %v", got)
	}
}
