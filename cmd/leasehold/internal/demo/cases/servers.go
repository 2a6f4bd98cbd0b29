package cases

import (
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

var failover = Case{
	Letter:  "d",
	Title:   "The master dies before it has replicated",
	Story:   "A has the lock on the master, which dies. The replica that takes over has never heard of it.",
	Without: "SET NX PX on a master with a replica",
	With:    "the failover guard",
	Moral:   "A new master may lack the last locks. So it must grant nothing until those are over.",
	setup:   stage.Setup{Servers: 1, Replica: true},
	guard:   true,
	play: func(p *play) {
		const master = 0
		// A is done before its first renewal, so that the guard alone is on trial.
		p.client("A", plan{work: p.part(.22, .25), until: stage.At("B", stage.Reads), most: p.part(.02, .04)})
		p.client("B", plan{after: back, delay: p.part(.01, .03), work: p.part(.25, .4)})
		dies, takes := p.part(.05, .08), p.part(.06, .1)
		p.meanwhile(func() {
			p.world.Await(stage.Forever, stage.At("A", stage.Reads))
			p.world.Sleep(dies)
			p.down(master, "the master dies")
			p.world.Sleep(takes)
			p.up(master, "the replica takes over without A's lock", ", and grants nothing yet")
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
	setup:   stage.Setup{Servers: 5},
	guard:   true,
	play: func(p *play) {
		p.ofFive(func() {
			const third = 2
			p.down(third, "server 3 dies")
			p.world.Sleep(p.part(.04, .07))
			p.up(third, "server 3 is back, and empty", ": it has no vote yet")
		})
	},
}

var clockJump = Case{
	Letter:  "f",
	Title:   "The clock of a server of a majority jumps",
	Story:   "A has the lock on servers 1, 2 and 3 of five. The clock of server 3 is set forward, and A's lock ends there.",
	Without: "SET NX PX on most of five servers (Redlock)",
	With:    "a token that most of the servers agree on",
	Moral:   "Two hold the lock, and it cannot prevent that. But B's token is larger, and A is refused.",
	setup:   stage.Setup{Servers: 5},
	fence:   true,
	play: func(p *play) {
		p.ofFive(func() {
			const third = 2
			p.world.JumpClock(third)
			p.tape.Mark(LocksLane, tape.Note, "server 3: the clock jumps")
			p.world.Fire(back)
		})
	},
}

// back is when a server that has forgotten the lock is there again.
const back stage.Moment = "the server is back"

// ofFive has A take the lock on three of five servers, lets something happen to one of them, and has B come then.
func (p *play) ofFive(happens func()) {
	a := p.client("A", plan{work: p.part(.3, .4), until: stage.At("B", stage.Reads), most: p.part(.1, .2)})
	a.Cut(3, 4)
	p.client("B", plan{after: back, delay: p.part(.03, .06), work: p.part(.55, .7)})
	later := p.part(.05, .1)
	p.meanwhile(func() {
		p.world.Await(stage.Forever, stage.At("A", stage.Reads))
		p.world.Sleep(later)
		happens()
	})
}

// down ends a server.
func (p *play) down(server int, text string) {
	p.world.Kill(server)
	p.tape.Mark(LocksLane, tape.Dies, text)
	p.tape.Begin(LocksLane, tape.Down)
}

// up brings a server back. It says what the server does then if leasehold has a say in it.
func (p *play) up(server int, text, guard string) {
	p.world.Return(server)
	p.tape.End(LocksLane, tape.Down)
	if p.guarded {
		text += guard
		p.tape.For(LocksLane, tape.Closed, p.world.TTL())
	}
	p.tape.Mark(LocksLane, tape.Note, text)
	p.world.Fire(back)
}
