package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
	"github.com/leasehold-go/leasehold/internal/quorumnode"
)

// heldGrant is what is known of a lease that a waiter was granted.
type heldGrant struct {
	passed  bool             // the last holder has passed it on, so that it may still arrive on some nodes
	next    *quorumnode.Next // who waits behind it; nil if that is not known
	arbiter *node            // which has said so
}

// heldGrants remembers the grants of owners that hold.
type heldGrants struct {
	mu      sync.Mutex
	byOwner map[string]heldGrant
}

// maxHeldGrants bounds the memory. If there are more, all are forgotten: their locks are released without being passed
// on.
const maxHeldGrants = 4096

func (t *heldGrants) add(owner string, held heldGrant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byOwner == nil || len(t.byOwner) >= maxHeldGrants {
		t.byOwner = map[string]heldGrant{}
	}
	t.byOwner[owner] = held
}

// take returns the grant of an owner, and forgets it.
func (t *heldGrants) take(owner string) (held heldGrant, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, known = t.byOwner[owner]
	delete(t.byOwner, owner)
	return held, known
}

// useGrant makes a lease of what the arbiter has granted. Either the last holder has passed the name on, so that a
// majority of nodes has granted it already, or they are asked now.
func (e *Engine) useGrant(
	ctx context.Context, o *owner, r driver.Request, arbiter *node, granted quorumnode.Grant,
) (g driver.Grant, err error) {
	passed := granted.Owner != ""
	if passed {
		before := o
		o = e.calls.adopt(o.call, granted.Owner)
		if granted.Polled { // the owner before may be in the queue again
			before.noteCleanupBegun(arbiter)
			e.sendCleanup(arbiter, before, nil, e.startRelease)
		}
	}
	if passed && granted.Agreed && e.lastsLongEnough(granted.Grant) {
		if !e.calls.acceptGrant(o, granted.Token) {
			e.giveUpBallot(o)
			return g, errReleased
		}
		g = granted.Grant
		g.Owner = o.grantOwner(r)
	} else if g, err = e.ballotAfterGrant(ctx, o, r, arbiter); err != nil {
		return g, err
	}
	e.heldGrants.add(o.name, heldGrant{passed: passed, next: granted.Next, arbiter: arbiter})
	return g, nil
}

// lastsLongEnough reports whether enough is left of a lease that was passed on: more than half of it, and what the
// configuration asks for. Otherwise the nodes are asked for all of it.
func (e *Engine) lastsLongEnough(g driver.Grant) bool {
	left := g.TTL - driver.Drift(g.TTL) - driver.Now().Since(g.Start)
	return left > g.TTL/2 && left >= e.MinValidity
}

// releaseLeft releases what was passed to a waiter that has given up.
func (e *Engine) releaseLeft(k driver.Key, owner string) {
	ctx := e.withNodeDeadline(context.Background())
	r := driver.Release{Hold: driver.Hold{Key: k, Owner: owner}}
	for _, n := range e.nodes {
		e.startRelease(ctx, n, r, func(err error) {
			if driver.IsNo(err) {
				e.releaseLater(n, r)
			}
		})
	}
}

// latePassAfter are the pauses after which an owner to which the name was passed is released again on a node on which
// it did not hold: the pass may arrive later than its release, as two programs have sent them.
var latePassAfter = [...]time.Duration{20 * time.Millisecond, 200 * time.Millisecond}

// releaseLater releases an owner again, where a pass may be late.
func (e *Engine) releaseLater(n *node, r driver.Release) {
	r.Keep = 0
	e.goInBackground(func() {
		for _, pause := range latePassAfter {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-e.ctx.Done():
				t.Stop()
				return
			}
			e.startRelease(e.withNodeDeadline(context.Background()), n, r, func(error) {})
		}
	})
}
