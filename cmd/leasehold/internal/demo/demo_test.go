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
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// all returns all that a seed makes, byte by byte.
func all(t *testing.T, seed uint64) string {
	t.Helper()
	var b bytes.Buffer
	var figures []draw.Figure
	for _, c := range cases.All {
		f := demo.Virtual(c, seed)
		figures = append(figures, f)
		if err := (draw.Screen{Width: 100}).Draw(&b, f); err != nil {
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
		first = first[:strings.Index(first, "<svg")] // the JSON has the seed in it
		if other, ok := seen[first]; ok {
			t.Errorf("seeds %d and %d make the same", seed, other)
		}
		seen[first] = seed
	}
}

// The seed decides how long clients work, not only how long leases last.
func TestSeedsVaryDurations(t *testing.T) {
	t.Parallel()
	for _, c := range cases.All {
		percents := map[time.Duration]bool{}
		for seed := range uint64(40) {
			r := demo.Virtual(c, seed).Without.Recording
			percents[100*r.End/r.TTL] = true
		}
		if len(percents) < 10 {
			t.Errorf("case %s lasts %d different parts of its ttl", c.Letter, len(percents))
		}
	}
}

// Both sides of a case run the same program: what the plan says of a client that starts at once takes equally long.
func TestBothSidesHaveTheSamePlan(t *testing.T) {
	t.Parallel()
	for _, c := range cases.All {
		for seed := range uint64(20) {
			f := demo.Virtual(c, seed)
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

func TestVerdicts(t *testing.T) {
	t.Parallel()
	figure := func(letter string, without, with tape.Verdict) draw.Figure {
		return draw.Figure{Letter: letter, Without: draw.Side{Recording: tape.Recording{Verdict: without}}, With: draw.Side{Recording: tape.Recording{Verdict: with}}}
	}
	figures := []draw.Figure{
		figure("a", tape.Verdict{Lost: 1}, tape.Verdict{}),
		figure("b", tape.Verdict{}, tape.Verdict{}),
		figure("c", tape.Verdict{Lost: 1}, tape.Verdict{Lost: 2}),
		figure("d", tape.Verdict{Hung: 1}, tape.Verdict{Hung: 1}),
	}
	if got := demo.Broken(figures); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("broken: %v", got)
	}
	if got := demo.Harmless(figures); !slices.Equal(got, []string{"b"}) {
		t.Errorf("harmless: %v", got)
	}
}
