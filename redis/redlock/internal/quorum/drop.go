package quorum

import (
	"context"

	"github.com/leasehold-go/leasehold/driver"
)

// giveUp ends what an owner has asked for in vain, and releases what it has left on nodes, in the background. Where a node does not answer, the name is free
// when the ttl has passed, and one node makes no majority.
func (e *Engine) giveUp(o *owner) {
	for i, left := range o.lose() {
		if left {
			e.drop(e.nodes[i], o, nil, e.release)
		}
	}
}

// dropAgain drops once more what an attempt may have left where a drop had no answer, if the node answers again. With all, it does so wherever anything may have
// come later than the drop.
func (e *Engine) dropAgain(a *attempt, all bool) {
	type drop struct {
		on *node
		of *owner
	}
	var owed []drop
	a.mu.Lock()
	for _, o := range a.former {
		for i := range o.on {
			if t := &o.on[i]; t.drops == 0 && (t.doubt && all || t.owed && !e.nodes[i].silent.Load()) {
				t.drops++
				owed = append(owed, drop{e.nodes[i], o})
			}
		}
	}
	a.mu.Unlock()
	for _, d := range owed {
		e.drop(d.on, d.of, nil, e.release)
	}
}

// took takes in the answer of a node to a take: left is whether something may be left there, and sure whether it is for certain. If the owner is over, that must go. While the
// engine is being closed, what is left for sure still goes: Close waits for the take, and so for this. What had no answer would have none now.
func (e *Engine) took(n *node, o *owner, left, sure bool) {
	drop, tell := o.took(n, left, left && !sure)
	if !drop {
		return
	}
	send := e.release
	if sure {
		send = func(ctx *bounded, n *node, r driver.Release, done func(error)) {
			e.work.Add(1)
			e.sendRelease(ctx, n, r, done)
		}
	}
	e.drop(n, o, tell, send)
}

// drop does what has been noted before, as the caller's own release would if there was one.
func (e *Engine) drop(n *node, o *owner, tell *poll, send func(*bounded, *node, driver.Release, func(error))) {
	a := o.attempt
	r := driver.Release{Hold: driver.Hold{Key: a.key, Owner: o.name}, Place: a.place}
	if tell != nil {
		r = tell.release
	}
	a.use()
	send(e.bound(context.Background()), n, r, func(err error) {
		o.dropped(n, err)
		if tell != nil {
			tell.put(answer{node: n, err: err})
		}
		e.attempts.end(a)
	})
}
