// Package cases describes the classic cases that break locks. In each case clients run the same program, which adds one
// to a counter under a lock: once with a lock of a few commands and once with leasehold, while the same things go
// wrong.
package cases

import (
	"math/rand/v2"
	"slices"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// Case is one way in which locks break.
type Case struct {
	// Letter names the case on the command line.
	Letter string
	// Title is its name, and Story says what goes wrong.
	Title, Story string
	// Without names the lock that breaks, and With what leasehold adds, in a few words each.
	Without, With string
	// Moral is the lesson, on one line.
	Moral string

	setup scenario.Setup // without leasehold; Setup adds the rest
	fence bool           // a fencing token is what helps
	guard bool           // it helps that servers which come back grant nothing for a while
	start func(p *caseRun)
}

// All are the cases, ordered by letter.
var All = []Case{crash, plainDelete, longPause, failover, emptyRestart, clockJump, inFlight}

// Find returns the case with that letter.
func Find(letter string) (Case, bool) {
	i := slices.IndexFunc(All, func(c Case) bool { return c.Letter == letter })
	if i < 0 {
		return Case{}, false
	}
	return All[i], true
}

// Setup returns what the environment must be like, with leasehold if protected is true.
func (c Case) Setup(protected bool) scenario.Setup {
	s := c.setup
	if protected {
		s.Leasehold, s.Fenced, s.Guarded = true, c.fence, c.guard
	}
	return s
}

// Restarts reports whether one of several servers is restarted, so that no other case can use it meanwhile.
func (c Case) Restarts() bool { return c.guard && c.setup.Servers > 1 }

// Start starts the case in an environment. The same random numbers make the same durations in every environment.
func (c Case) Start(w scenario.Environment, protected bool, random *rand.Rand) {
	p := &caseRun{env: w, recorder: w.Recorder(), random: random, guarded: protected && c.guard}
	c.start(p)
	p.recorder.AddLane(LocksLane, timeline.Locks)
	p.recorder.AddLane(timeline.CounterLane, timeline.Counter)
	for _, f := range p.functions {
		w.Go(f)
	}
}

// LocksLane is the name of the lane of the servers that keep the lock.
const LocksLane = "locks"
