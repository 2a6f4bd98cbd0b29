package cases

import "github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"

var crash = Case{
	Letter:  "a",
	Title:   "SETNX without an expiry, and a crash",
	Story:   "A takes the lock and dies. Nobody is left to delete its key.",
	Without: "SETNX",
	With:    "a lease, which ends by itself",
	Moral:   "A lock without an end outlives its holder, until somebody deletes it by hand. A lease ends.",
	setup:   scenario.Setup{Servers: 1, Naive: scenario.NaiveOptions{NoExpiry: true, PlainDelete: true}},
	start: func(p *caseRun) {
		p.client("A", clientPlan{work: p.partOfTTL(.25, .45), dies: true})
		p.client("B", clientPlan{delay: p.partOfTTL(.1, .2), work: p.partOfTTL(.2, .4)})
	},
}

var plainDelete = Case{
	Letter:  "b",
	Title:   "DEL of a lock that is another's by now",
	Story:   "A has written, stands still, and unlocks late: its lock has run out, and B has it.",
	Without: "SET NX PX, and DEL",
	With:    "a release names its owner",
	Moral:   "DEL deletes whatever is there. A release must compare the owner and delete in one step.",
	setup:   scenario.Setup{Servers: 1, Naive: scenario.NaiveOptions{PlainDelete: true}},
	start: func(p *caseRun) {
		// B is done before its first renewal, which would tell it that its lock is gone: only the release is tested.
		p.client("A", clientPlan{work: p.partOfTTL(.1, .2),
			beforeUnlock: stopUntil(scenario.EventOf("B", scenario.Reads), 3*p.env.TTL(), p.partOfTTL(.06, .1))})
		p.client("B", clientPlan{delay: p.partOfTTL(.2, .3), work: p.partOfTTL(.23, .26),
			until: scenario.EventOf("C", scenario.Reads), atMost: p.partOfTTL(.02, .04)})
		p.client("C", clientPlan{after: scenario.EventOf("B", scenario.Holds), delay: p.partOfTTL(.02, .05),
			work: p.partOfTTL(.3, .4)})
	},
}

var longPause = Case{
	Letter: "c",
	Title:  "A pause that is longer than the lease",
	Story: "A looks at its lock, which is fine, and stands still before it writes: a garbage collection, a swapped " +
		"page, a moved machine.",
	Without: "SET NX PX, compare and delete",
	With:    "a token goes along with each write",
	Moral:   "No lock can stop a client that is late. The counter can: it has seen a newer token.",
	setup:   scenario.Setup{Servers: 1},
	fence:   true,
	start: func(p *caseRun) {
		wakes := scenario.EventOf("B", scenario.Reads) // before B has written, or after
		if p.random.IntN(2) == 0 {
			wakes = scenario.EventOf("B", scenario.Writes)
		}
		p.client("A", clientPlan{work: p.partOfTTL(.15, .25),
			beforeWrite: stopUntil(wakes, 3*p.env.TTL(), p.partOfTTL(.1, .2))})
		p.client("B", clientPlan{delay: p.partOfTTL(.1, .2), work: p.partOfTTL(.35, .5)})
	},
}

var inFlight = Case{
	Letter:  "g",
	Title:   "The answer comes when the lease is over",
	Story:   "A's request is granted, but A stands still while the answer is under way, for longer than the lease.",
	Without: "SET NX PX, counted from the answer",
	With:    "counted from before the request",
	Moral:   "Counted from the answer, a lease that is over looks fresh. Count from before the request.",
	setup:   scenario.Setup{Servers: 1},
	start: func(p *caseRun) {
		a := p.client("A", clientPlan{work: p.partOfTTL(.25, .35)})
		p.client("B", clientPlan{after: scenario.EventOf("A", scenario.Asks), delay: p.partOfTTL(.1, .2),
			work: p.partOfTTL(.35, .45), until: scenario.EventOf("A", scenario.Reads), atMost: p.partOfTTL(.1, .15)})
		a.StopAfterRequest()
		longer := p.partOfTTL(.1, .2)
		p.alongside(func() {
			p.env.Await(scenario.Forever, scenario.EventOf("A", scenario.Asks))
			stopUntil(scenario.EventOf("B", scenario.Reads), 3*p.env.TTL(), longer)(a)
		})
	},
}
