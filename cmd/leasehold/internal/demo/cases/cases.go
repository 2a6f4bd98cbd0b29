// Package cases tells the classic cases that break locks. In each of them clients run the same program, which adds one to a counter under a lock,
// once with a lock of a few commands and once with leasehold, while the same things go wrong.
package cases

import (
	"math/rand/v2"
	"slices"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// Case is one way in which locks break.
type Case struct {
	// Letter is what the case is called on the command line.
	Letter string
	// Title names it, and Story says what goes wrong.
	Title, Story string
	// Without is the lock that breaks, With is what leasehold adds, in a few words each.
	Without, With string
	// Moral is the lesson, in one line.
	Moral string

	setup stage.Setup // of the side without; protect makes the other one of it
	fence bool        // the token is what helps
	guard bool        // that servers which come back grant nothing is what helps
	play  func(p *play)
}

// All are the cases, by their letters.
var All = []Case{crash, plainDelete, longPause, failover, emptyRestart, clockJump, inFlight}

// Find returns the case with a letter.
func Find(letter string) (Case, bool) {
	i := slices.IndexFunc(All, func(c Case) bool { return c.Letter == letter })
	if i < 0 {
		return Case{}, false
	}
	return All[i], true
}

// Setup returns what the world of one side must be like.
func (c Case) Setup(protected bool) stage.Setup {
	s := c.setup
	if protected {
		s.Leasehold, s.Fenced, s.Guarded = true, c.fence, c.guard
	}
	return s
}

// Restarts reports whether a server that is one of several is restarted, so that nothing else can be played on it meanwhile.
func (c Case) Restarts() bool { return c.guard && c.setup.Servers > 1 }

// Play begins the case in a world. The same random numbers make the same durations, whatever the world.
func (c Case) Play(w stage.World, protected bool, random *rand.Rand) {
	p := &play{world: w, tape: w.Tape(), random: random, guarded: protected && c.guard}
	c.play(p)
	p.tape.Lane(LocksLane, tape.Locks)
	p.tape.Lane(tape.CounterLane, tape.Counter)
	for _, f := range p.begin {
		w.Go(f)
	}
}

// LocksLane is the name of the lane of the servers that keep the lock.
const LocksLane = "locks"
