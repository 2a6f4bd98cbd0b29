// Package demo runs the classic cases that break locks, each once with a lock of a few commands and once with
// leasehold, and reports what became of the work.
package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/simulated"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// Simulate runs a case in virtual time. The same seed gives the same result.
func Simulate(c cases.Case, seed uint64) draw.Figure {
	return newFigure(c, simulateSide(c, seed, false), simulateSide(c, seed, true))
}

func simulateSide(c cases.Case, seed uint64, protected bool) timeline.Timeline {
	w := simulated.New(c.Setup(protected), rand.New(rand.NewPCG(seed, 1)))
	c.Start(w, protected, rand.New(rand.NewPCG(seed, 2)))
	return w.Run()
}

func newFigure(c cases.Case, without, with timeline.Timeline) draw.Figure {
	return draw.Figure{
		Letter: c.Letter, Title: c.Title, Story: c.Story, Moral: c.Moral,
		Without: draw.Side{What: c.Without, Timeline: without}, With: draw.Side{What: c.With, Timeline: with},
	}
}

// Find returns the cases with those letters, each once, or all cases if there are no letters.
func Find(letters []string) ([]cases.Case, error) {
	if len(letters) == 0 {
		return cases.All, nil
	}
	var found []cases.Case
	seen := map[string]bool{}
	for _, letter := range letters {
		c, ok := cases.Find(letter)
		if !ok {
			return nil, fmt.Errorf("%q is no case: there are %s", letter, strings.Join(Letters(), ", "))
		}
		if !seen[letter] {
			found = append(found, c)
		}
		seen[letter] = true
	}
	return found, nil
}

// Letters returns the letters of all cases.
func Letters() (letters []string) {
	for _, c := range cases.All {
		letters = append(letters, c.Letter)
	}
	return letters
}

// Broken returns the letters of the cases in which leasehold lost an update or let a client hang.
func Broken(figures []draw.Figure) (letters []string) {
	for _, f := range figures {
		if !f.With.Good() {
			letters = append(letters, f.Letter)
		}
	}
	return letters
}

// Harmless returns the letters of the cases in which nothing was lost without leasehold. This happens on real servers
// if the machine was too busy for things to go wrong at the right moments.
func Harmless(figures []draw.Figure) (letters []string) {
	for _, f := range figures {
		if f.Without.Good() {
			letters = append(letters, f.Letter)
		}
	}
	return letters
}
