package leasehold

import (
	"context"
	"sync"
	"time"
)

// requestContext is the context of one request. It has the values of the caller's context, and ends when the caller
// gives up. Unlike a derived context, it costs next to nothing until Done is called.
type requestContext struct {
	context.Context // the caller's

	deadline time.Time

	mu   sync.Mutex
	done chan struct{}
	err  error
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
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
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end ends the context with err.
func (c *requestContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		if c.done != nil {
			close(c.done)
		}
	}
}
