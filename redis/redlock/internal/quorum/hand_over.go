package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// handOver passes a name from its holder to the first waiter, without a moment in which it is free:
//
//  1. All nodes but the arbiter pass the name to a new owner, which nobody knows but this process.
//  2. When so many have done so that they are a majority together with the arbiter, that passes it as well, and tells
//     the first waiter that it holds as this owner. All of these nodes have granted the same token, or the arbiter does
//     nothing.
//
// So the waiter need not ask anybody. If one of the steps fails, the new owner is released, and the holder is released
// as usual. If the arbiter does not answer in step 2, the waiter may hold, so the new owner is not released before the
// arbiter has said that the holder still held there. At worst its lease ends, which is short unless the waiter renews
// it.
//
// Close waits for both steps, and requests that follow from them are sent although the engine is being closed:
// otherwise the waiter would wait until the lease of the holder ends.
type handOver struct {
	quorumnode.HandOver
	engine  *Engine
	release *fanOut
	arbiter *node
	owner   *owner // the new one

	mu      sync.Mutex
	passed  int         // nodes that have passed the name on
	pending int         // nodes that have not answered
	spare   int         // how many of these are not waited for: those that have not answered before, or all
	decided bool        // the arbiter was asked, or will not be
	sent    bool        // it was asked, or the new owner and the holder are being released
	grace   *time.Timer // asks the arbiter although some nodes have not answered
}

const (
	// maxPassedLease is the lease of an owner to which a name was passed, at most. Its waiter may be gone: the name is
	// free when it has ended. The core renews it when a third has passed.
	maxPassedLease = 2 * time.Second
	// waitsElsewhere is for how long no name is passed on for which others wait at a node that is not the arbiter, as
	// they cannot reach that, or it was silent. They are granted a name only by releases that all can see.
	waitsElsewhere = 2 * time.Second
	// maxTold is for how long a holder relies on what it was told of the one who waits behind it.
	maxTold = 2 * time.Second
	// A holder that releases within quickHold waits for the slower nodes, too, but only for passGrace: the next one
	// probably is as quick, and would otherwise ask them to pass on what they have not been passed.
	quickHold, passGrace = 2 * time.Millisecond, 10 * time.Millisecond
)

// canHandOver reports whether a release can pass the name on.
func (e *Engine) canHandOver(r driver.Release, t heldGrant) bool {
	return t.next != nil && r.Keep == 0 && len(e.nodes) > 2 && e.arbiter(r.Key) == t.arbiter &&
		driver.Now().Since(t.next.Received) < maxTold && !e.elsewhere.Has(r.Key)
}

// handOver releases a name by passing it on, and waits for the result of the release, and until step 2 has begun: the
// program may end then. It must be called after beginWork.
func (e *Engine) handOver(ctx context.Context, f *fanOut, t heldGrant) error {
	c := e.calls.begin(driver.Request{Key: f.release.Key, Owner: newOwner()}, len(e.nodes))
	h := &handOver{engine: e, release: f, arbiter: t.arbiter, owner: c.current, pending: len(e.nodes) - 1}
	h.Hold, h.Place, h.Next, h.Began = f.release.Hold, f.release.Place, *t.next, driver.Now()
	isQuick := h.Began.Since(t.next.Received) < quickHold
	for _, n := range e.nodes {
		if n != t.arbiter && (n.silent.Load() || !isQuick) {
			h.spare++
		}
	}
	h.To = h.owner.request(driver.Request{
		Key: f.release.Key, Mode: driver.Exclusive, Size: 1, Weight: 1, Tokens: 1,
		TTL: min(t.next.TTL, maxPassedLease), Holder: t.next.Holder,
	})
	f.pending = len(e.nodes)
	nodeCtx := e.withNodeDeadline(ctx)
	for _, n := range e.nodes {
		if n != t.arbiter {
			h.startPass(nodeCtx, n)
		}
	}
	if err := f.awaitAnswers(ctx, func() bool { return f.yes >= e.majority && h.hasSecondStep() }); err != nil {
		return err
	}
	return f.result()
}

// end ends the work and the use of the call that began with handOver.
func (h *handOver) end() {
	h.engine.calls.endUse(h.owner.call)
	h.engine.background.Done()
}

// startPass asks one node to pass the name on. Where it cannot, the holder is released.
func (h *handOver) startPass(ctx *deadlineContext, n *node) {
	e, f := h.engine, h.release
	if !n.beginRequest() {
		f.add(answer{node: n, err: errNodeSilent})
		h.note(false)
		return
	}
	e.background.Add(1)
	h.owner.call.addUse()
	h.owner.noteTakeBegun(n)
	n.StartPass(ctx, h.Pass, func(passed bool, err error) {
		n.noteAnswer(err)
		if !passed && errors.Is(err, driver.ErrHeld) {
			e.elsewhere.Add(h.Hold.Key, waitsElsewhere)
		}
		unknown := !passed && err != nil && !driver.HadNoEffect(err)
		e.noteTake(n, h.owner, passed || unknown, passed)
		switch {
		case passed, unknown:
			f.add(answer{node: n, err: err})
		default:
			h.releaseHolder(n)
		}
		h.note(passed)
		n.endRequest()
		e.calls.endUse(h.owner.call)
		e.background.Done()
	})
}

// note counts the answer of a node but the arbiter. The one that decides begins the second step.
func (h *handOver) note(passed bool) {
	h.mu.Lock()
	h.pending--
	if passed {
		h.passed++
	}
	need := h.engine.majority - 1
	enough, lost := h.passed >= need, h.passed+h.pending < need
	waits := h.pending > h.spare
	if enough && waits && h.grace == nil && !h.decided {
		h.grace = time.AfterFunc(passGrace, h.startHandOver)
	}
	h.mu.Unlock()
	switch {
	case lost:
		h.giveUp()
	case enough && !waits:
		h.startHandOver()
	}
}

// decide reports whether the caller decides about the second step: the first one does.
func (h *handOver) decide() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.decided
	h.decided = true
	if h.grace != nil {
		h.grace.Stop()
	}
	return !before
}

// noteSecondStep notes that what follows the first step has been sent, so that the release may return.
func (h *handOver) noteSecondStep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = true
	h.release.wakeUp()
}

func (h *handOver) hasSecondStep() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

// startHandOver asks the arbiter to pass the name on to the first waiter.
func (h *handOver) startHandOver() {
	if !h.decide() {
		return
	}
	e, f, n := h.engine, h.release, h.arbiter
	defer h.noteSecondStep()
	if !n.beginRequest() {
		h.releaseBoth()
		return
	}
	n.StartHandOver(e.withNodeDeadline(context.Background()), h.HandOver, func(passed bool, err error) {
		n.noteAnswer(err)
		switch {
		case passed:
			f.add(answer{node: n})
			h.end()
		case err == nil || driver.HadNoEffect(err):
			h.releaseBoth()
		default:
			h.askAgain()
		}
		n.endRequest()
	})
}

// askAgain releases the holder on an arbiter that has not answered. If it held there, the name was not passed on, and
// never will be, unless the arbiter has no vote: it may have passed it on, and have got the holder's key back from its
// disk.
func (h *handOver) askAgain() {
	e, n := h.engine, h.arbiter
	e.continueRelease(e.withNodeDeadline(context.Background()), n, h.release.release, func(err error) {
		h.release.add(answer{node: n, err: err})
		go func() {
			defer h.end()
			if err == nil && e.hasVote(n) {
				h.releaseNewOwner()
			}
		}()
	})
}

// giveUp does without the second step.
func (h *handOver) giveUp() {
	if h.decide() {
		h.releaseBoth()
		h.noteSecondStep()
	}
}

// releaseBoth releases the new owner, and then the holder on the arbiter, which hands over to the first waiter as
// usual.
func (h *handOver) releaseBoth() {
	h.releaseNewOwner()
	h.releaseHolder(h.arbiter)
	h.end()
}

// releaseNewOwner releases what the new owner was passed.
func (h *handOver) releaseNewOwner() {
	h.engine.releaseBallot(h.owner, h.engine.continueRelease)
}

// releaseHolder releases the holder on a node that has not passed the name on.
func (h *handOver) releaseHolder(n *node) {
	h.release.sendRelease(h.engine.withNodeDeadline(context.Background()), n, h.engine.continueRelease)
}
