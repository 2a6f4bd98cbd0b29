package leasehold

import (
	"context"
	"sync"
	"time"
)

// crew is goroutines in which requests run, so that a caller can go away from an engine that does not let it go.
// They are used again: to start one for each request costs as much as all the rest of it.
type crew struct {
	mu    sync.Mutex
	idle  []*hand // the last one was busy last
	least int     // how many were idle all the time since the last trim
	timer *time.Timer
	shut  bool
}

// hand is one goroutine. It has one task at a time.
type hand struct {
	tasks chan func()
	done  chan struct{} // of capacity 1
	limit *time.Timer   // for who waits for it; stopped while it is idle
}

// idleFor is after how long without a task a hand ends, or twice that.
const idleFor = 5 * time.Second

// hire returns a hand for one task. It must be let go afterwards, or left alone: then it ends with its task.
func (c *crew) hire() *hand {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle[n-1] = nil
		c.idle = c.idle[:n-1]
		c.least = min(c.least, n-1)
		return w
	}
	w := &hand{tasks: make(chan func(), 1), done: make(chan struct{}, 1), limit: time.NewTimer(time.Hour)}
	w.limit.Stop()
	go w.work()
	return w
}

// letGo takes back a hand whose task is done.
func (c *crew) letGo(w *hand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		close(w.tasks)
		return
	}
	c.idle = append(c.idle, w)
	if c.timer == nil {
		c.least = 0
		c.timer = time.AfterFunc(idleFor, c.trim)
	}
}

// trim ends the hands that nobody has needed since the last trim.
func (c *crew) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(c.least, len(c.idle))
	for _, w := range c.idle[:n] {
		close(w.tasks)
	}
	c.idle = append(c.idle[:0:0], c.idle[n:]...)
	c.least, c.timer = len(c.idle), nil
	if len(c.idle) > 0 && !c.shut {
		c.timer = time.AfterFunc(idleFor, c.trim)
	}
}

// close ends the hands that are idle, and others when they are.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	for _, w := range c.idle {
		close(w.tasks)
	}
	c.idle = nil
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (w *hand) work() {
	for task := range w.tasks {
		task()
	}
}

// callContext is the context of one request. It has the values of the caller's and ends when the caller goes away. Unlike
// a derived one it costs next to nothing as long as nobody asks for Done.
type callContext struct {
	context.Context // the caller's

	deadline time.Time

	mu   sync.Mutex
	done chan struct{}
	err  error
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end ends the context.
func (c *callContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		if c.done != nil {
			close(c.done)
		}
	}
}
