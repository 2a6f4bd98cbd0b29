// Package virtual plays cases in virtual time, at once, and the same way each time: one thing happens after the other, and nothing
// depends on the machine.
//
// Real are the engine of package memory, which keeps the locks of leasehold, one on each server, and the marks of package fence. Simulated
// are time, the network, the commands of Redis for locks without leasehold, and what the core of leasehold and its engine redlock do around their
// engines: those need real time. They follow the same rules, in few lines.
package virtual

import (
	"math/rand/v2"
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// World is a world in virtual time. It is for one play.
type World struct {
	*clock
	setup   stage.Setup
	ttl     time.Duration
	random  *rand.Rand
	tape    *tape.Tape
	servers []*server
	counter counter
}

var _ stage.World = (*World)(nil)

// New makes a world. The random numbers decide how long leases last, and how long messages are under way.
func New(s stage.Setup, random *rand.Rand) *World {
	w := &World{clock: newClock(), setup: s, random: random}
	w.ttl = time.Duration(4+random.IntN(7)) * time.Second
	w.tape = tape.New(func() time.Duration { return w.now })
	for range s.Servers {
		w.servers = append(w.servers, newServer(w))
	}
	w.clock.passes = func(d time.Duration) {
		for _, s := range w.servers {
			s.pass(d)
		}
	}
	return w
}

// Run plays what Go has begun to its end, and returns what was recorded.
func (w *World) Run() tape.Recording {
	w.run()
	return w.tape.Stop(w.ttl)
}

// TTL implements [stage.World].
func (w *World) TTL() time.Duration { return w.ttl }

// Tape implements [stage.World].
func (w *World) Tape() *tape.Tape { return w.tape }

// Kill implements [stage.World].
func (w *World) Kill(i int) { w.servers[i].down = true }

// Return implements [stage.World]. A replica that lacks the lock is as good as an empty server.
func (w *World) Return(i int) {
	w.servers[i] = newServer(w)
	if w.setup.Guarded {
		w.servers[i].opens = w.now + w.ttl // what it may not know of is over by then
	}
}

// JumpClock implements [stage.World].
func (w *World) JumpClock(i int) {
	ahead := 2 * w.ttl
	w.servers[i].ahead += ahead
	w.servers[i].locks.Advance(ahead)
}

// hop lets a message be under way.
func (w *World) hop() {
	w.Sleep(time.Duration(500+w.random.IntN(3500)) * time.Microsecond)
}

// patience is after how long a client would wait for ever.
func (w *World) patience() time.Duration { return w.ttl * 5 / 2 }

// beat is the time between two tries of one who waits.
func (w *World) beat() time.Duration {
	return w.ttl/50 + time.Duration(w.random.Int64N(int64(w.ttl/100)))
}
