package cases

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/stage"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/tape"
)

// client runs the program.
type client struct {
	stage.Client
	*play
	name string
	plan plan
}

// run is the program: take the lock, read the counter, work, write what was read plus one, let go. Who finds on the way that the lock is
// lost starts over.
func (c *client) run() {
	p := c.plan
	if p.after != "" {
		c.world.Await(stage.Forever, p.after)
	}
	c.world.Sleep(p.delay)
	for range mostAttempts {
		if c.attempt(p) {
			return
		}
		p = p.again()
	}
	c.tape.Hang(c.name, "gives up")
}

// mostAttempts is far more than any client needs.
const mostAttempts = 20

// attempt reports whether the client is done.
func (c *client) attempt(p plan) (done bool) {
	lease, ok := c.lock()
	if !ok {
		return true
	}
	value, ok := c.Read(lease.Token())
	if !ok {
		c.leave(lease)
		return false
	}
	c.tape.Read(c.name, value, lease.Token())
	c.world.Fire(stage.At(c.name, stage.Reads))

	c.work(p, lease.Lost())
	if p.dies {
		c.Die()
		c.tape.End(c.name, tape.Holds)
		c.tape.Mark(c.name, tape.Dies, "dies")
		return true
	}
	if lease.Over() {
		c.tape.Mark(c.name, tape.Note, "the lease is over: starts again")
		c.leave(lease)
		return false
	}
	happens(p.beforeWrite, c)
	if !c.Write(lease.Token(), value+1) {
		c.leave(lease)
		return false
	}
	c.world.Fire(stage.At(c.name, stage.Writes))
	happens(p.beforeUnlock, c)
	if remark := c.leave(lease); remark != "" {
		c.tape.Mark(c.name, tape.Note, remark)
	}
	return true
}

// leave lets go of the lock, in which the client does not believe any more from now on.
func (c *client) leave(lease stage.Lease) (remark string) {
	c.tape.End(c.name, tape.Holds)
	return lease.Release()
}

// lock waits for the lock.
func (c *client) lock() (stage.Lease, bool) {
	c.tape.Begin(c.name, tape.Waits)
	lease, ok := c.Lock()
	c.tape.End(c.name, tape.Waits)
	if !ok {
		c.tape.Hang(c.name, "waits for ever")
		return nil, false
	}
	c.tape.Begin(c.name, tape.Holds)
	c.world.Fire(stage.At(c.name, stage.Holds))
	return lease, true
}

// work lets time pass, as the plan says, but no longer than the lease lasts.
func (c *client) work(p plan, lost stage.Moment) {
	if c.world.Await(p.work, lost) != "" || p.until == "" {
		return
	}
	c.world.Await(p.most, p.until, lost)
}

func happens(f func(*client), c *client) {
	if f != nil {
		f(c)
	}
}

// stops lets the client stand still until something has come, and a moment longer.
func stops(until stage.Moment, most, longer time.Duration) func(*client) {
	return func(c *client) {
		c.tape.Begin(c.name, tape.Stopped)
		c.Stop()
		c.await(until, most)
		c.world.Sleep(longer)
		c.Continue()
		c.tape.End(c.name, tape.Stopped)
	}
}
