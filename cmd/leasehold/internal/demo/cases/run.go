package cases

import (
	"math/rand/v2"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// caseRun is one run of a case in one environment.
type caseRun struct {
	env       scenario.Environment
	recorder  *timeline.Recorder
	random    *rand.Rand
	guarded   bool
	functions []func()
}

// partOfTTL returns a time between two fractions of the ttl. It is the same on all processors: the conversion keeps
// them from rounding two operations as one.
func (p *caseRun) partOfTTL(least, most float64) time.Duration {
	return time.Duration((least + float64((most-least)*p.random.Float64())) * float64(p.env.TTL()))
}

// client creates a client that runs the program.
func (p *caseRun) client(name string, plan clientPlan) *client {
	p.recorder.AddLane(name, timeline.Client)
	c := &client{Client: p.env.Client(name), caseRun: p, name: name, plan: plan}
	p.functions = append(p.functions, c.run)
	return c
}

// alongside runs a function at the same time as the clients.
func (p *caseRun) alongside(f func()) { p.functions = append(p.functions, f) }

// await waits for an event for at most the given time: leasehold may keep the event from happening, and then the case
// goes on.
func (p *caseRun) await(m scenario.Event, most time.Duration) { p.env.Await(most, m) }

// clientPlan says when a client starts, how long it works, and what happens to it meanwhile. It is the same with
// leasehold and without.
type clientPlan struct {
	after scenario.Event // to wait for before it starts; "" is none
	delay time.Duration  // after that

	work   time.Duration  // at least, between reading and writing
	until  scenario.Event // it also works until this has happened,
	atMost time.Duration  // but not longer than this

	beforeWrite  func(c *client) // called between its last check of the lease and its write
	beforeUnlock func(c *client) // called between its write and its release
	dies         bool            // it dies at the end of the work
}

// retry returns the plan of a client that starts again.
func (p clientPlan) retry() clientPlan { return clientPlan{work: p.work} }
