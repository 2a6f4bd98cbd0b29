package cases

import (
	"math/rand/v2"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// play is one run of a case in one world.
type play struct {
	world   stage.World
	tape    *tape.Tape
	random  *rand.Rand
	guarded bool
	begin   []func()
}

// part returns a time between two parts of the ttl. It is the same on all processors: where a number is converted, none of them may round only
// once for two operations.
func (p *play) part(least, most float64) time.Duration {
	return time.Duration((least + float64((most-least)*p.random.Float64())) * float64(p.world.TTL()))
}

// client brings up a client that runs the program.
func (p *play) client(name string, plan plan) *client {
	p.tape.Lane(name, tape.Client)
	c := &client{Client: p.world.Client(name), play: p, name: name, plan: plan}
	p.begin = append(p.begin, c.run)
	return c
}

// meanwhile lets something happen beside the clients.
func (p *play) meanwhile(f func()) { p.begin = append(p.begin, f) }

// await waits for a moment that is to come, but not for ever: where leasehold keeps the moment from coming, the play goes on.
func (p *play) await(m stage.Moment, most time.Duration) { p.world.Await(most, m) }

// plan says when a client starts, how long it works, and what happens to it meanwhile. It is the same on both sides.
type plan struct {
	after stage.Moment  // which it waits for before it starts; "" is none
	delay time.Duration // from then on

	work  time.Duration // between reading and writing, at least
	until stage.Moment  // it works until this has come, too,
	most  time.Duration // but not longer

	beforeWrite  func(c *client) // happens between its last look at the lock and its write
	beforeUnlock func(c *client) // happens between its write and its release of the lock
	dies         bool            // at the end of the work
}

// again is the plan of a client that starts over.
func (p plan) again() plan { return plan{work: p.work} }
