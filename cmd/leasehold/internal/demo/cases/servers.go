package cases

import (
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

var failover = Case{
	Letter:  "d",
	Title:   "The master dies before it has replicated",
	Story:   "A has the lock on the master, which dies. The replica that takes over has never heard of it.",
	Without: "SET NX PX on a master with a replica",
	With:    "the failover guard",
	Moral:   "A new master may lack the last locks. So it must grant nothing until those are over.",
	setup:   scenario.Setup{Servers: 1, Replica: true},
	guard:   true,
	start: func(p *caseRun) {
		const master = 0
		// A is done before its first renewal, so that only the guard is tested.
		p.client("A", clientPlan{work: p.partOfTTL(.22, .25), until: scenario.EventOf("B", scenario.Reads),
			atMost: p.partOfTTL(.02, .04)})
		p.client("B", clientPlan{after: serverBack, delay: p.partOfTTL(.01, .03), work: p.partOfTTL(.25, .4)})
		dies, takes := p.partOfTTL(.05, .08), p.partOfTTL(.06, .1)
		p.alongside(func() {
			p.env.Await(scenario.Forever, scenario.EventOf("A", scenario.Reads))
			p.env.Sleep(dies)
			p.stopServer(master, "the master dies")
			p.env.Sleep(takes)
			p.startServer(master, "the replica takes over without A's lock", ", and grants nothing yet")
		})
	},
}

var emptyRestart = Case{
	Letter:  "e",
	Title:   "A server of a majority restarts empty",
	Story:   "A has the lock on servers 1, 2 and 3 of five. Server 3 restarts and has forgotten it.",
	Without: "SET NX PX on most of five servers (Redlock)",
	With:    "a restarted server has no vote for a while",
	Moral:   "One forgetful server makes a second majority. So it must not vote for as long as a lease.",
	setup:   scenario.Setup{Servers: 5},
	guard:   true,
	start: func(p *caseRun) {
		p.onThreeOfFive(func() {
			const third = 2
			p.stopServer(third, "server 3 dies")
			p.env.Sleep(p.partOfTTL(.04, .07))
			p.startServer(third, "server 3 is back, and empty", ": it has no vote yet")
		})
	},
}

var clockJump = Case{
	Letter: "f",
	Title:  "The clock of a server of a majority jumps",
	Story: "A has the lock on servers 1, 2 and 3 of five. The clock of server 3 is set forward, and A's lock ends " +
		"there.",
	Without: "SET NX PX on most of five servers (Redlock)",
	With:    "a token that most of the servers agree on",
	Moral:   "Two hold the lock, and it cannot prevent that. But B's token is larger, and A is refused.",
	setup:   scenario.Setup{Servers: 5},
	fence:   true,
	start: func(p *caseRun) {
		p.onThreeOfFive(func() {
			const third = 2
			p.env.JumpClock(third)
			p.recorder.AddPoint(LocksLane, timeline.Note, "server 3: the clock jumps")
			p.env.Signal(serverBack)
		})
	},
}

// serverBack happens when a server that has forgotten the lock is available again.
const serverBack scenario.Event = "the server is back"

// onThreeOfFive makes A take the lock on three of five servers, calls happens, and then starts B.
func (p *caseRun) onThreeOfFive(happens func()) {
	a := p.client("A", clientPlan{work: p.partOfTTL(.3, .4), until: scenario.EventOf("B", scenario.Reads),
		atMost: p.partOfTTL(.1, .2)})
	a.Cut(3, 4)
	p.client("B", clientPlan{after: serverBack, delay: p.partOfTTL(.03, .06), work: p.partOfTTL(.55, .7)})
	later := p.partOfTTL(.05, .1)
	p.alongside(func() {
		p.env.Await(scenario.Forever, scenario.EventOf("A", scenario.Reads))
		p.env.Sleep(later)
		happens()
	})
}

// stopServer kills a server.
func (p *caseRun) stopServer(server int, text string) {
	p.env.Kill(server)
	p.recorder.AddPoint(LocksLane, timeline.Dies, text)
	p.recorder.Begin(LocksLane, timeline.Down)
}

// startServer brings a server back. With leasehold's guard, it adds to the text what the server does then.
func (p *caseRun) startServer(server int, text, guard string) {
	p.env.Return(server)
	p.recorder.End(LocksLane, timeline.Down)
	if p.guarded {
		text += guard
		p.recorder.AddInterval(LocksLane, timeline.Closed, p.env.TTL())
	}
	p.recorder.AddPoint(LocksLane, timeline.Note, text)
	p.env.Signal(serverBack)
}
