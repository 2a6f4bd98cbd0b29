// Package simulated runs cases in virtual time, at once and deterministically: one thing happens after the other, and
// nothing depends on the machine.
//
// Two parts are real: the engine of package memory, which keeps the locks of leasehold, one on each server, and the
// marks of package fence. The rest is simulated: time, the network, the commands of Redis for locks without leasehold,
// and what the core of leasehold and its engine redlock do around their engines, since those need real time. It follows
// the same rules, in few lines.
package simulated

import (
	"math/rand/v2"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// Environment is an environment in virtual time. It is for one run.
type Environment struct {
	*clock
	setup    scenario.Setup
	ttl      time.Duration
	random   *rand.Rand
	recorder *timeline.Recorder
	servers  []*server
	counter  counter
}

var _ scenario.Environment = (*Environment)(nil)

// New creates an environment. The random numbers determine how long leases and messages last.
func New(s scenario.Setup, random *rand.Rand) *Environment {
	e := &Environment{clock: newClock(), setup: s, random: random}
	e.ttl = time.Duration(4+random.IntN(7)) * time.Second
	e.recorder = timeline.New(func() time.Duration { return e.now })
	for range s.Servers {
		e.servers = append(e.servers, newServer(e))
	}
	e.clock.onAdvance = func(d time.Duration) {
		for _, s := range e.servers {
			s.advance(d)
		}
	}
	return e
}

// Run runs what Go has started to its end, and returns the timeline.
func (e *Environment) Run() timeline.Timeline {
	e.run()
	return e.recorder.Finish(e.ttl)
}

// TTL implements [scenario.Environment].
func (e *Environment) TTL() time.Duration { return e.ttl }

// Recorder implements [scenario.Environment].
func (e *Environment) Recorder() *timeline.Recorder { return e.recorder }

// Kill implements [scenario.Environment].
func (e *Environment) Kill(i int) { e.servers[i].down = true }

// Return implements [scenario.Environment]. A replica without the lock behaves like an empty server.
func (e *Environment) Return(i int) {
	e.servers[i] = newServer(e)
	if e.setup.Guarded {
		e.servers[i].closedUntil = e.now + e.ttl // by then, all leases that it has forgotten are over
	}
}

// JumpClock implements [scenario.Environment].
func (e *Environment) JumpClock(i int) {
	ahead := 2 * e.ttl
	e.servers[i].ahead += ahead
	e.servers[i].lockClock.Advance(ahead)
}

// delayMessage waits while a message is in flight.
func (e *Environment) delayMessage() {
	e.Sleep(time.Duration(500+e.random.IntN(3500)) * time.Microsecond)
}

// waitLimit returns how long a client waits before it counts as hanging.
func (e *Environment) waitLimit() time.Duration { return e.ttl * 5 / 2 }

// pollInterval returns the time between two attempts of a waiter.
func (e *Environment) pollInterval() time.Duration {
	return e.ttl/50 + time.Duration(e.random.Int64N(int64(e.ttl/100)))
}
