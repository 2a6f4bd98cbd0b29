package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// poll collects the answers of nodes to a request that is not a take: yes, no, or an error.
type poll struct {
	inbox
	engine  *Engine
	release driver.Release // if that is what it is about
	pending int
	yes, no int
	votes   []Vote
}

func (e *Engine) poll() *poll {
	return &poll{inbox: newInbox(len(e.nodes), e.need), engine: e, votes: e.votes(NoAnswer)}
}

// send sends one node its request. It goes on when nobody waits for it any more.
func (p *poll) send(ctx context.Context, n *node, f func(ctx context.Context) error) {
	p.pending++
	if !p.engine.begin(func() { p.put(answer{node: n, err: p.engine.request(ctx, n, f)}) }) {
		p.put(answer{node: n, err: errClosed})
	}
}

// await takes in answers until enough have come, or all have, or ctx ends.
func (p *poll) await(ctx context.Context, enough func() bool) error {
	late := time.NewTimer(p.engine.patience())
	defer late.Stop()
	for p.pending > 0 && !enough() {
		if a, ok := p.next(); ok {
			p.note(a)
			continue
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return nil
		}
	}
	return nil
}

// note takes in an answer.
func (p *poll) note(a answer) {
	p.pending--
	switch {
	case a.err == nil:
		p.yes++
	case driver.IsNo(a.err):
		p.no++
	}
	p.votes[a.node.index] = p.engine.vote(a.node, a.err)
}

// decided reports whether a majority has said yes, or none can.
func (p *poll) decided() bool {
	return p.yes >= p.engine.need || p.no > len(p.engine.nodes)-p.engine.need
}

// outcome is what the answers come to.
func (p *poll) outcome() error {
	switch {
	case p.yes >= p.engine.need:
		return nil
	case p.no > len(p.engine.nodes)-p.engine.need:
		return driver.ErrNotHeld
	}
	return fmt.Errorf("neither confirmed nor denied by %d of %d nodes: %w", p.engine.need, len(p.votes), &Error{Votes: p.votes, Need: p.engine.need})
}

// Release implements [driver.Engine]. If somebody waits, the arbiter is asked first: whom it grants the name hears of it by a message, and asks the other nodes
// a whole way there and back later, so that they mostly have let go by then. One that has not is asked again.
//
// An owner that gives up waiting is released there last, as its request to wait may still be on its way.
//
// What an attempt may have left under owners of before goes with it.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	p := e.poll()
	a, nodes, waited := e.attempts.release(r, p, e.nodes)
	if a != nil {
		e.dropAgain(a, true)
	}
	err := e.releaseOn(ctx, p, nodes, waited)
	e.attempts.released(a, err == nil || driver.IsNo(err), e.MaxTTL)
	return err
}

// releaseOn asks nodes for the release, and waits for what it comes to.
func (e *Engine) releaseOn(ctx context.Context, p *poll, nodes []*node, waited bool) error {
	var arbiter *node
	if k := p.release.Key; waited || e.Wanted(k) {
		arbiter = e.arbiter(k)
	}
	asked := slices.Contains(nodes, arbiter)
	within := e.bound(ctx)
	if asked && !waited {
		p.ask(within, arbiter)
	}
	for _, n := range nodes {
		if n != arbiter {
			p.ask(within, n)
		}
	}
	if asked && waited {
		p.wakeFrom(e.need - 1)
		if err := p.await(ctx, func() bool { return p.yes+p.no >= e.need-1 }); err != nil {
			return err
		}
		p.ask(e.bound(ctx), arbiter)
	}
	// A "no" is not given early: the owner may be about to be granted something, and the releases that are still under way would undo it later.
	if err := p.await(ctx, func() bool { return p.yes >= e.need }); err != nil {
		return err
	}
	return p.outcome()
}

// ask asks one node to release the name.
func (p *poll) ask(ctx *bounded, n *node) {
	p.pending++
	p.engine.release(ctx, n, p.release, func(err error) { p.put(answer{node: n, err: err}) })
}

// release asks one node to release a name. done must not block.
func (e *Engine) release(ctx *bounded, n *node, r driver.Release, done func(error)) {
	if !e.enter() {
		done(errClosed)
		return
	}
	e.sendRelease(ctx, n, r, done)
}

// sendRelease is release for a request that has been noted.
func (e *Engine) sendRelease(ctx *bounded, n *node, r driver.Release, done func(error)) {
	if !n.admit() {
		done(errSilent)
		e.work.Done()
		return
	}
	n.StartRelease(ctx, r, func(err error) {
		n.heard(err)
		done(err)
		n.leave()
		e.work.Done()
	})
}

// Wanted implements [driver.Wanter].
func (e *Engine) Wanted(k driver.Key) bool {
	if e.attempts.wanted(k) {
		return true
	}
	for _, n := range e.nodes {
		if n.Wanted(k) {
			return true
		}
	}
	return false
}

// ForceRelease implements [driver.Forcer]. Nodes that were granted the name late may know its holder by another token: there it stays
// taken until the lease ends, which makes no majority.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	p := e.poll()
	for _, n := range e.nodes {
		p.send(ctx, n, func(ctx context.Context) error { return n.ForceRelease(ctx, k, token) })
	}
	if err := p.await(ctx, p.decided); err != nil {
		return err
	}
	return p.outcome()
}
