package redis

import (
	"slices"
	"sync"
	"time"
)

// couriers carry the errands of many goroutines to one server: what comes while they are all under way goes together in one
// script. So the busier a server is, the less each errand costs it and this process, and who is alone waits for nobody.
//
// A courier is a goroutine. One that does not come back before all its errands are of no use is given up: their outcome is unknown, and another
// one takes its place.
type couriers struct {
	engine *Engine
	spare  sync.Pool // of *awaited that have been answered

	mu     sync.Mutex
	queue  []*errand
	idle   []*courier
	busy   int // under way in time
	late   int // under way for too long
	selves int // goroutines that carry their errand themselves
	closed bool
	used   bool        // since the last sweep
	sweep  *time.Timer // sends home who is not needed; nil if nobody is, or has been a moment ago
}

const (
	// mostBusy is how many couriers are under way at the same time: while the server sees to what one has brought, the next one packs.
	mostBusy = 2
	// mostLate is how many are given up before no more are sent after them.
	mostLate = 16
	// mostErrands is how many one courier carries. The server does nothing else meanwhile.
	mostErrands = 64
	// mostSelves is how many goroutines carry their errands themselves, if no courier is under way.
	mostSelves = 2
	// sweepAfter is how long an idle courier stays.
	sweepAfter = time.Second
)

// send has an errand done.
func (c *couriers) send(r *errand) {
	c.mu.Lock()
	var failed error
	switch {
	case c.closed:
		failed = errClosed
	case c.busy == 0 && c.late >= mostLate:
		failed = errBusy
	default:
		r.queued = true
		c.queue = append(c.queue, r)
		c.dispatch()
	}
	c.mu.Unlock()
	if failed != nil {
		r.finish(nil, failed)
	}
}

// dispatch sees to it that somebody comes for the queue. mu is held.
func (c *couriers) dispatch() {
	if c.busy >= mostBusy || c.busy+c.late >= mostLate || len(c.queue) == 0 {
		return // whoever comes back looks at the queue
	}
	c.busy++
	c.used = true
	if last := len(c.idle) - 1; last >= 0 {
		k := c.idle[last]
		c.idle = c.idle[:last]
		k.calls <- true
		return
	}
	k := &courier{couriers: c, calls: make(chan bool, 1)}
	go k.work()
}

// self reports whether the caller may carry its errand itself, as there is hardly anybody else. Then it must call home.
func (c *couriers) self() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy > 0 || c.selves >= mostSelves {
		return false
	}
	c.selves++
	return true
}

func (c *couriers) home() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.selves--
}

// withdraw takes back an errand that is not under way yet, and reports whether it could.
func (c *couriers) withdraw(r *errand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.queued {
		return false
	}
	i := slices.Index(c.queue, r)
	c.queue = slices.Delete(c.queue, i, i+1)
	r.queued = false
	return true
}

// close ends the couriers as they come back. What is not under way yet fails.
func (c *couriers) close() {
	c.mu.Lock()
	c.closed = true
	queue := c.drain()
	c.sendHome()
	c.mu.Unlock()
	for _, r := range queue {
		r.finish(nil, errClosed)
	}
}

// drain takes all errands out of the queue, to be finished when mu is not held any more. It is held.
func (c *couriers) drain() []*errand {
	queue := c.queue
	c.queue = nil
	for _, r := range queue {
		r.queued = false
	}
	return queue
}

// sendHome ends those who are idle. mu is held.
func (c *couriers) sendHome() {
	for _, k := range c.idle {
		k.calls <- false
	}
	c.idle = nil
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
}

// sweeps sends those home who have been idle for a while.
func (c *couriers) sweeps() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sweep == nil: // it was stopped too late
	case c.used:
		c.used = false
		c.sweep.Reset(sweepAfter)
	default:
		c.sendHome()
	}
}

// pack makes a trip of what is in the queue, and takes out what is of no use any more. If there is nothing, the courier is idle.
func (c *couriers) pack(k *courier) (t *trip, stale []*errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var end time.Time
	k.batch = k.batch[:0]
	taken := 0
	for _, r := range c.queue {
		if len(k.batch) == mostErrands {
			break
		}
		taken++
		r.queued = false
		if !now.Before(r.end) {
			stale = append(stale, r)
			continue
		}
		k.batch = append(k.batch, r)
		if r.end.After(end) {
			end = r.end
		}
	}
	c.queue = slices.Delete(c.queue, 0, taken)
	switch {
	case len(k.batch) > 0:
		return begin(k, end), stale
	case len(stale) == 0:
		c.rest(k)
	}
	return nil, stale
}

// rest notes that a courier has nothing to do. mu is held.
func (c *couriers) rest(k *courier) {
	c.busy--
	if c.closed {
		k.calls <- false
		return
	}
	c.idle = append(c.idle, k)
	if c.sweep == nil {
		c.sweep = time.AfterFunc(sweepAfter, c.sweeps)
	}
}

// lose notes that a courier is late, and sends another one. If too many are, nobody comes for the queue.
func (c *couriers) lose() {
	c.mu.Lock()
	c.busy--
	c.late++
	c.dispatch()
	var queue []*errand
	if c.busy == 0 {
		queue = c.drain()
	}
	c.mu.Unlock()
	for _, r := range queue {
		r.finish(nil, errBusy)
	}
}

// find notes that a courier has come back late.
func (c *couriers) find() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late--
	c.dispatch()
}
