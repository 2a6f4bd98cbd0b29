package leasehold

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/agenda"
)

// gate lets takes through to a server of the engine for as long as renewals do not have to wait for them: what is held goes before what is asked for. How many
// takes may be under way at once is tried out, as a sender tries out a network: more while renewals are answered in time and callers
// wait, and very few as soon as one is late. Takes that wait here are let through in their order, or refused.
type gate struct {
	mu      sync.Mutex
	most    int       // takes that may be under way; 0: firstTakes
	under   int       // takes that are
	waiting list.List // of chan struct{}: those who are not let through yet
	awaited agenda.Agenda[*renewals]
	behind  time.Duration // until when renewals count as late, on the renewer's clock
	process *atomic.Int64 // the same, for all gates of the client
}

const (
	// firstTakes is how many takes may be under way before anything is known of the engine.
	firstTakes = 128
	// leastTakes may be under way even while renewals are late: takes that have to do with another server must get on.
	leastTakes = 8
)

// errHeldBack says why a take was not sent.
var errHeldBack = driver.NoEffect(errors.New("held back for too long: this process asks for more than the engine can do, and the renewals of its leases go first"))

// renewals is a batch of them that is under way.
type renewals struct {
	entry agenda.Entry[*renewals]
	gate  *gate
}

// await notes that renewals are sent, which are late from the time given.
func (g *gate) await(late time.Duration) *renewals {
	r := &renewals{gate: g}
	r.entry.Value = r
	g.mu.Lock()
	defer g.mu.Unlock()
	g.awaited.Set(&r.entry, late)
	return r
}

// answered notes that renewals were answered, or are not awaited any more.
func (r *renewals) answered() {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	r.gate.awaited.Remove(&r.entry)
}

// late notes that renewals come too late, and counts them as late until then.
func (g *gate) late(until time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.behind = max(g.behind, until)
}

// look shuts the gate if renewals are late at the time now, and reports whether they are. mu is held.
func (g *gate) look(now time.Duration) bool {
	if g.most == 0 {
		g.most = firstTakes
	}
	next, any := g.awaited.Next()
	if late := now < max(g.behind, time.Duration(g.process.Load())) || any && next < now; !late {
		return false
	}
	g.most = leastTakes
	return true
}

// enter waits until a take may be sent, at most for patience and until the client is closed. Whoever was let in must leave.
func (g *gate) enter(ctx context.Context, closed <-chan struct{}, now, patience time.Duration) error {
	g.mu.Lock()
	g.look(now)
	if g.under < g.most && g.waiting.Len() == 0 {
		g.under++
		g.mu.Unlock()
		return nil
	}
	let := make(chan struct{}, 1)
	place := g.waiting.PushBack(let)
	g.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err := errHeldBack
	select {
	case <-let:
		return nil
	case <-ctx.Done():
		err = driver.NoEffect(context.Cause(ctx))
	case <-closed:
		err = driver.NoEffect(ErrClosed)
	case <-timer.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(let) > 0 {
		return nil // it was let in at the same moment
	}
	g.waiting.Remove(place)
	return err
}

// letIn waits until a take may be sent through a gate, for half of its limit at most, and returns what is left of that for the request.
func (c *Client) letIn(ctx context.Context, g *gate, limit time.Duration) (time.Duration, error) {
	came := c.renewer.now()
	if err := g.enter(ctx, c.life.Done(), came, limit/2); err != nil {
		return 0, err
	}
	if waited := c.renewer.now() - came; waited > limit/100 { // requests with the usual limit share a timer
		limit -= waited
	}
	return limit, nil
}

// leave ends a take that was let in. If the engine has answered it in time, one more may be under way.
func (g *gate) leave(now time.Duration, answered bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.under--
	if late := g.look(now); answered && !late && g.waiting.Len() > 0 {
		g.most++
	}
	for g.under < g.most && g.waiting.Len() > 0 {
		g.under++
		g.waiting.Remove(g.waiting.Front()).(chan struct{}) <- struct{}{}
	}
}
