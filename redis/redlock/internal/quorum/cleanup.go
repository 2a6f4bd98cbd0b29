package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// giveUpBallot ends a ballot without a lease, and releases what the owner has on the nodes, in the background. Where a
// node does not answer, the name is free when the ttl has passed, and one node makes no majority.
func (e *Engine) giveUpBallot(o *owner) { e.releaseBallot(o, e.startRelease) }

// releaseBallot is giveUpBallot for any way to send the releases.
func (e *Engine) releaseBallot(o *owner, send func(*deadlineContext, *node, driver.Release, func(error))) {
	for i, mustRelease := range o.loseBallot() {
		if mustRelease {
			e.sendCleanup(e.nodes[i], o, nil, send)
		}
	}
}

// repeatCleanups releases past owners of a call once more: on nodes that did not answer the last cleanup and answer
// again by now; with all, wherever a request may have arrived later than the cleanup.
func (e *Engine) repeatCleanups(c *call, all bool) {
	type cleanup struct {
		node  *node
		owner *owner
	}
	var due []cleanup
	c.mu.Lock()
	for _, o := range c.past {
		for i := range o.nodes {
			if s := &o.nodes[i]; s.cleanups == 0 &&
				(s.uncertain && all || s.cleanupUnanswered && !e.nodes[i].silent.Load()) {
				s.cleanups++
				due = append(due, cleanup{e.nodes[i], o})
			}
		}
	}
	c.mu.Unlock()
	for _, d := range due {
		e.sendCleanup(d.node, d.owner, nil, e.startRelease)
	}
}

// noteTake notes the answer of a node to a take: mayHold says that the node may have granted the name or
// queued the owner, certain that it has. If the owner has no use for that, it is cleaned up. While the
// engine is being closed, only what is certain is cleaned up: Close waits for the take, and so for the
// cleanup. A request to a node that has not answered the take would have no answer either.
func (e *Engine) noteTake(n *node, o *owner, mayHold, certain bool) {
	cleanUp, release := o.endTake(n, mayHold, mayHold && !certain)
	if !cleanUp {
		return
	}
	send := e.startRelease
	if certain {
		send = e.continueRelease
	}
	e.sendCleanup(n, o, release, send)
}

// sendCleanup sends a cleanup that the owner has counted. If the caller's own release has waited for the
// take, it is that release, and gets the outcome.
func (e *Engine) sendCleanup(
	n *node, o *owner, release *fanOut, send func(*deadlineContext, *node, driver.Release, func(error)),
) {
	c := o.call
	r := driver.Release{Hold: driver.Hold{Key: c.key, Owner: o.name}, Place: c.place}
	if release != nil {
		r = release.release
	}
	c.addUse()
	send(e.withNodeDeadline(context.Background()), n, r, func(err error) {
		o.noteCleanup(n, err)
		if release != nil {
			release.add(answer{node: n, err: err})
		}
		e.calls.endUse(c)
	})
}
