package quorum

import (
	"context"
	"slices"

	"github.com/leasehold-go/leasehold/driver"
)

// Release implements [driver.Engine]. If somebody waits, the arbiter is asked first: a waiter that it grants
// the name learns that by a message, and its requests reach the other nodes one round trip later, when most
// of them have released the name. A node that has not is asked again.
//
// If the owner gives up waiting, the arbiter is asked last, since the request to wait may still be in flight.
//
// What the nodes have of past owners of the call is released with it.
func (e *Engine) Release(ctx context.Context, r driver.Release) error {
	f := e.newFanOut()
	t, _ := e.heldGrants.take(r.Owner)
	c, nodes, waited := e.calls.beginRelease(r, f, e.nodes)
	if c != nil {
		e.repeatCleanups(c, true)
	}
	f.wasPassed = t.passed
	var err error
	if !waited && len(nodes) == len(e.nodes) && f.release.Owner == r.Owner && e.canHandOver(r, t) && e.beginWork() {
		err = e.handOver(ctx, f, t)
	} else {
		err = e.releaseOnNodes(ctx, f, nodes, waited)
	}
	e.calls.endRelease(c, err == nil || driver.IsNo(err), e.MaxTTL)
	return err
}

// releaseOnNodes asks nodes for the release, and waits for the result.
func (e *Engine) releaseOnNodes(ctx context.Context, f *fanOut, nodes []*node, waited bool) error {
	var arbiter *node
	if k := f.release.Key; waited || e.Wanted(k) {
		arbiter = e.arbiter(k)
	}
	askArbiter := slices.Contains(nodes, arbiter)
	nodeCtx := e.withNodeDeadline(ctx)
	if askArbiter && !waited {
		f.askRelease(nodeCtx, arbiter)
	}
	for _, n := range nodes {
		if n != arbiter {
			f.askRelease(nodeCtx, n)
		}
	}
	if askArbiter && waited {
		f.setWakeAt(e.majority - 1)
		if err := f.awaitAnswers(ctx, func() bool { return f.yes+f.no >= e.majority-1 }); err != nil {
			return err
		}
		f.askRelease(e.withNodeDeadline(ctx), arbiter)
	}
	return f.awaitRelease(ctx)
}

// awaitRelease waits for the result of a release. A "no" is not given early: the owner may be about to be granted
// something, which the releases that are still in flight would undo later.
func (f *fanOut) awaitRelease(ctx context.Context) error {
	if err := f.awaitAnswers(ctx, func() bool { return f.yes >= f.engine.majority }); err != nil {
		return err
	}
	return f.result()
}

// startRelease asks one node to release a name. done must not block.
func (e *Engine) startRelease(ctx *deadlineContext, n *node, r driver.Release, done func(error)) {
	if !e.beginWork() {
		done(errClosed)
		return
	}
	e.sendRelease(ctx, n, r, done)
}

// continueRelease is startRelease as a part of work that has begun, so also while the engine is being closed.
func (e *Engine) continueRelease(ctx *deadlineContext, n *node, r driver.Release, done func(error)) {
	e.background.Add(1)
	e.sendRelease(ctx, n, r, done)
}

// sendRelease is startRelease after beginWork.
func (e *Engine) sendRelease(ctx *deadlineContext, n *node, r driver.Release, done func(error)) {
	if !n.beginRequest() {
		done(errNodeSilent)
		e.background.Done()
		return
	}
	n.StartRelease(ctx, r, func(err error) {
		n.noteAnswer(err)
		done(err)
		n.endRequest()
		e.background.Done()
	})
}

// Downgrade implements [driver.Engine]. There are no shared locks.
func (e *Engine) Downgrade(context.Context, driver.Hold) error { return driver.ErrUnsupported }

// Wanted implements [driver.Wanter].
func (e *Engine) Wanted(k driver.Key) bool {
	if e.calls.hasWaiter(k) {
		return true
	}
	for _, n := range e.nodes {
		if n.Wanted(k) {
			return true
		}
	}
	return false
}

// ForceRelease implements [driver.Operator]. A node that has granted the name late may know its holder by another
// token. There the name stays taken until the lease expires, which makes no majority.
func (e *Engine) ForceRelease(ctx context.Context, k driver.Key, token uint64) error {
	f := e.newFanOut()
	for _, n := range e.nodes {
		f.send(ctx, n, func(ctx context.Context) error { return n.ForceRelease(ctx, k, token) })
	}
	if err := f.awaitAnswers(ctx, f.isDecided); err != nil {
		return err
	}
	return f.result()
}
