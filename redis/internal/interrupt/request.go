package interrupt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Context is the context of a request that can be interrupted.
type Context struct {
	context.Context
	deadline time.Time // in the zone of a request
	request  *request
	stop     func() bool

	interrupter *Interrupter
}

// request is what connections know of a request. It is used again.
type request struct {
	zone  *time.Location       // by which they know it
	ended atomic.Bool          // its context has ended
	conn  atomic.Pointer[conn] // the last one that got its deadline
	end   func()
}

// Begin returns a context that ends with ctx, even while the client waits for the server. Call End when the client has
// returned; it is used by one goroutine. Begin returns nil if the client's requests cannot be interrupted.
func (i *Interrupter) Begin(ctx context.Context) *Context {
	if i == nil || i.foreign.Load() {
		return nil
	}
	r := i.get()
	c := &Context{Context: ctx, interrupter: i, request: r, deadline: time.Now().Add(i.ahead)}
	if end, ok := ctx.Deadline(); ok && end.Before(c.deadline) {
		c.deadline = end
	}
	c.deadline = c.deadline.In(r.zone)
	c.stop = context.AfterFunc(ctx, r.end)
	return c
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return c.deadline, true }

// End returns the error of the client, or that of the context if it has interrupted the client. The outcome of the
// request is unknown then.
func (c *Context) End(err error) error {
	c.interrupter.put(c.request, c.stop())
	if err == nil || c.Err() == nil || errors.Is(err, c.Err()) {
		return err
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return fmt.Errorf("%w: %w", c.Err(), err)
	}
	return err
}

// get returns a request that nobody uses.
func (i *Interrupter) get() *request {
	i.mu.Lock()
	defer i.mu.Unlock()
	if last := len(i.free) - 1; last >= 0 {
		r := i.free[last]
		i.free = i.free[:last]
		return r
	}
	r := &request{zone: time.FixedZone("request", 0)}
	r.end = r.interrupt
	i.byZone.Store(r.zone, r)
	return r
}

// put ends the use of a request. If its context has ended, interrupt may run later, so nobody may use it again.
func (i *Interrupter) put(r *request, again bool) {
	if !again {
		i.byZone.Delete(r.zone)
		return
	}
	r.conn.Store(nil)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.free = append(i.free, r)
}

// interrupt lets the deadline of the request pass.
func (r *request) interrupt() {
	r.ended.Store(true) // before conn is read: see conn.set
	if c := r.conn.Load(); c != nil {
		c.interrupt(r)
	}
}
