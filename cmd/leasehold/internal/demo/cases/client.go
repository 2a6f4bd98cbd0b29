package cases

import (
	"time"

	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/scenario"
	"github.com/leasehold-go/leasehold/cmd/leasehold/internal/demo/timeline"
)

// client runs the program.
type client struct {
	scenario.Client
	*caseRun
	name string
	plan clientPlan
}

// run is the program: acquire the lock, read the counter, work, write the value plus one, release. It starts again if
// it notices that the lock is lost.
func (c *client) run() {
	p := c.plan
	if p.after != "" {
		c.env.Await(scenario.Forever, p.after)
	}
	c.env.Sleep(p.delay)
	for range maxAttempts {
		if c.attempt(p) {
			return
		}
		p = p.retry()
	}
	c.recorder.NoteHang(c.name, "gives up")
}

// maxAttempts is far more than any client needs.
const maxAttempts = 20

// attempt reports whether the client is done.
func (c *client) attempt(p clientPlan) (done bool) {
	lease, ok := c.lock()
	if !ok {
		return true
	}
	value, ok := c.Read(lease.Token())
	if !ok {
		c.release(lease)
		return false
	}
	c.recorder.NoteRead(c.name, value, lease.Token())
	c.env.Signal(scenario.EventOf(c.name, scenario.Reads))

	c.work(p, lease.LostEvent())
	if p.dies {
		c.Die()
		c.recorder.End(c.name, timeline.Holds)
		c.recorder.AddPoint(c.name, timeline.Dies, "dies")
		return true
	}
	if lease.IsOver() {
		c.recorder.AddPoint(c.name, timeline.Note, "the lease is over: starts again")
		c.release(lease)
		return false
	}
	callHook(p.beforeWrite, c)
	if !c.Write(lease.Token(), value+1) {
		c.release(lease)
		return false
	}
	c.env.Signal(scenario.EventOf(c.name, scenario.Writes))
	callHook(p.beforeUnlock, c)
	if remark := c.release(lease); remark != "" {
		c.recorder.AddPoint(c.name, timeline.Note, remark)
	}
	return true
}

// release releases the lock. From now on the client no longer believes that it holds it.
func (c *client) release(lease scenario.Lease) (remark string) {
	c.recorder.End(c.name, timeline.Holds)
	return lease.Release()
}

// lock waits for the lock.
func (c *client) lock() (scenario.Lease, bool) {
	c.recorder.Begin(c.name, timeline.Waits)
	lease, ok := c.Lock()
	c.recorder.End(c.name, timeline.Waits)
	if !ok {
		c.recorder.NoteHang(c.name, "waits for ever")
		return nil, false
	}
	c.recorder.Begin(c.name, timeline.Holds)
	c.env.Signal(scenario.EventOf(c.name, scenario.Holds))
	return lease, true
}

// work lets time pass, as the plan says, but stops when the lease is lost.
func (c *client) work(p clientPlan, lost scenario.Event) {
	if c.env.Await(p.work, lost) != "" || p.until == "" {
		return
	}
	c.env.Await(p.atMost, p.until, lost)
}

func callHook(f func(*client), c *client) {
	if f != nil {
		f(c)
	}
}

// stopUntil returns a function that stops the client until the event, or for at most the given time, and then for a
// little longer.
func stopUntil(until scenario.Event, most, longer time.Duration) func(*client) {
	return func(c *client) {
		c.recorder.Begin(c.name, timeline.Stopped)
		c.Stop()
		c.await(until, most)
		c.env.Sleep(longer)
		c.Continue()
		c.recorder.End(c.name, timeline.Stopped)
	}
}
