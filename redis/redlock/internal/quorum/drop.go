package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// errSpoilt is for a node where a release of the same owner may still be under way, and would undo what is taken there now.
var errSpoilt = driver.NoEffect(fmt.Errorf("no answer to the release before"))

// clear waits until no release of the owner is under way to a node. If one had no answer, it sends another, for the next who asks.
func (e *Engine) clear(ctx context.Context, a *attempt, n *node) error {
	a.mu.Lock()
	t := &a.on[n.index]
	if t.drops > 0 && t.clear == nil {
		t.clear = make(chan struct{})
	}
	clear := t.clear
	a.mu.Unlock()
	if clear != nil {
		select {
		case <-clear:
		case <-ctx.Done():
			return driver.NoEffect(ctx.Err())
		}
	}
	a.mu.Lock()
	spoilt := !t.doubt.IsZero()
	a.mu.Unlock()
	if spoilt {
		e.drop(n, a)
		return errSpoilt
	}
	return nil
}

// drop releases what an attempt has left on a node, in the background. If the node does not answer, the name is free there when the ttl has
// passed, and one node makes no majority.
func (e *Engine) drop(n *node, a *attempt) {
	a.mu.Lock()
	a.on[n.index].drops++
	a.mu.Unlock()
	e.dropNoted(n, a, nil, e.release)
}

// dropLate does what took has noted, about a take that has been answered. While the engine is being closed, what was granted still goes: Close waits for the take, and
// so for this. What had no answer would have none now.
func (e *Engine) dropLate(n *node, a *attempt, tell *poll, granted bool) {
	send := e.release
	if granted {
		send = func(ctx *bounded, n *node, r driver.Release, done func(error)) {
			e.work.Add(1)
			e.sendRelease(ctx, n, r, done)
		}
	}
	e.dropNoted(n, a, tell, send)
}

// dropNoted does what has been noted before, as the owner's own release would if there was one.
func (e *Engine) dropNoted(n *node, a *attempt, tell *poll, send func(*bounded, *node, driver.Release, func(error))) {
	r := driver.Release{Hold: driver.Hold{Key: a.key, Owner: a.owner}}
	if tell != nil {
		r = tell.release
	}
	sent := time.Now()
	a.use()
	send(e.bound(context.Background()), n, r, func(err error) {
		a.dropped(n, sent, err)
		if tell != nil {
			tell.put(answer{node: n, err: err})
		}
		e.attempts.end(a)
	})
}

// dropped notes the outcome of a drop.
func (a *attempt) dropped(n *node, sent time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &a.on[n.index]
	switch answered := err == nil || driver.IsNo(err); {
	case !answered && !driver.HadNoEffect(err):
		if sent.After(t.doubt) {
			t.doubt = sent
		}
	case answered && sent.Sub(t.doubt) > a.ttl: // if the node answers so long after, nothing from before is under way any more
		t.doubt = time.Time{}
	}
	if t.drops--; t.drops == 0 && t.clear != nil {
		close(t.clear)
		t.clear = nil
	}
}
