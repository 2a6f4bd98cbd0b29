// Package demo plays the classic cases that break locks, each once with a lock of a few commands and once with leasehold, and tells
// what became of the work.
package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/cases"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/draw"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/virtual"
)

// Virtual plays a case in virtual time. The same seed makes the same play.
func Virtual(c cases.Case, seed uint64) draw.Figure {
	return figure(c, virtually(c, seed, false), virtually(c, seed, true))
}

func virtually(c cases.Case, seed uint64, protected bool) tape.Recording {
	w := virtual.New(c.Setup(protected), rand.New(rand.NewPCG(seed, 1)))
	c.Play(w, protected, rand.New(rand.NewPCG(seed, 2)))
	return w.Run()
}

func figure(c cases.Case, without, with tape.Recording) draw.Figure {
	return draw.Figure{
		Letter: c.Letter, Title: c.Title, Story: c.Story, Moral: c.Moral,
		Without: draw.Side{What: c.Without, Recording: without}, With: draw.Side{What: c.With, Recording: with},
	}
}

// Find returns the cases with some letters, each once, and all of them if there are none.
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

// Letters are those of all cases.
func Letters() (letters []string) {
	for _, c := range cases.All {
		letters = append(letters, c.Letter)
	}
	return letters
}

// Broken returns the letters of the cases in which leasehold lost an update, or let somebody hang.
func Broken(figures []draw.Figure) (letters []string) {
	for _, f := range figures {
		if !f.With.Good() {
			letters = append(letters, f.Letter)
		}
	}
	return letters
}

// Harmless returns the letters of the cases in which nothing was lost without leasehold. On real servers that is so if the
// machine was too busy for things to go wrong at the right moments.
func Harmless(figures []draw.Figure) (letters []string) {
	for _, f := range figures {
		if f.Without.Good() {
			letters = append(letters, f.Letter)
		}
	}
	return letters
}
