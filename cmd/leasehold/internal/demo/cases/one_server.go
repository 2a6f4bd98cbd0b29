package cases

import "github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"

var crash = Case{
	Letter:  "a",
	Title:   "SETNX without an expiry, and a crash",
	Story:   "A takes the lock and dies. Nobody is left to delete its key.",
	Without: "SETNX",
	With:    "a lease, which ends by itself",
	Moral:   "A lock without an end outlives its holder, until somebody deletes it by hand. A lease ends.",
	setup:   stage.Setup{Servers: 1, Recipe: stage.Recipe{NoExpiry: true, PlainDelete: true}},
	play: func(p *play) {
		p.client("A", plan{work: p.part(.25, .45), dies: true})
		p.client("B", plan{delay: p.part(.1, .2), work: p.part(.2, .4)})
	},
}

var plainDelete = Case{
	Letter:  "b",
	Title:   "DEL of a lock that is another's by now",
	Story:   "A has written, stands still, and unlocks late: its lock has run out, and B has it.",
	Without: "SET NX PX, and DEL",
	With:    "a release names its owner",
	Moral:   "DEL deletes whatever is there. A release must compare the owner and delete in one step.",
	setup:   stage.Setup{Servers: 1, Recipe: stage.Recipe{PlainDelete: true}},
	play: func(p *play) {
		// B is done before its first renewal, which would tell it that its lock is gone: the release alone is on trial.
		p.client("A", plan{work: p.part(.1, .2), beforeUnlock: stops(stage.At("B", stage.Reads), 3*p.world.TTL(), p.part(.06, .1))})
		p.client("B", plan{delay: p.part(.2, .3), work: p.part(.23, .26), until: stage.At("C", stage.Reads), most: p.part(.02, .04)})
		p.client("C", plan{after: stage.At("B", stage.Holds), delay: p.part(.02, .05), work: p.part(.3, .4)})
	},
}

var longPause = Case{
	Letter:  "c",
	Title:   "A pause that is longer than the lease",
	Story:   "A looks at its lock, which is fine, and stands still before it writes: a garbage collection, a swapped page, a moved machine.",
	Without: "SET NX PX, compare and delete",
	With:    "a token goes along with each write",
	Moral:   "No lock can stop a client that is late. The counter can: it has seen a newer token.",
	setup:   stage.Setup{Servers: 1},
	fence:   true,
	play: func(p *play) {
		wakes := stage.At("B", stage.Reads) // before B has written, or after
		if p.random.IntN(2) == 0 {
			wakes = stage.At("B", stage.Writes)
		}
		p.client("A", plan{work: p.part(.15, .25), beforeWrite: stops(wakes, 3*p.world.TTL(), p.part(.1, .2))})
		p.client("B", plan{delay: p.part(.1, .2), work: p.part(.35, .5)})
	},
}

var inFlight = Case{
	Letter:  "g",
	Title:   "The answer comes when the lease is over",
	Story:   "A's request is granted, but A stands still while the answer is under way, for longer than the lease.",
	Without: "SET NX PX, counted from the answer",
	With:    "counted from before the request",
	Moral:   "Counted from the answer, a lease that is over looks fresh. Count from before the request.",
	setup:   stage.Setup{Servers: 1},
	play: func(p *play) {
		a := p.client("A", plan{work: p.part(.25, .35)})
		p.client("B", plan{after: stage.At("A", stage.Asks), delay: p.part(.1, .2), work: p.part(.35, .45), until: stage.At("A", stage.Reads), most: p.part(.1, .15)})
		a.StopWhenAsked()
		longer := p.part(.1, .2)
		p.meanwhile(func() {
			p.world.Await(stage.Forever, stage.At("A", stage.Asks))
			stops(stage.At("B", stage.Reads), 3*p.world.TTL(), longer)(a)
		})
	},
}
