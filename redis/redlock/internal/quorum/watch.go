package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// watch looks from time to time whether a node still answers, for those who wait there. They are told by the end of their context.
type watch struct {
	mu      sync.Mutex
	waiters map[*watched]struct{}
	looking bool
}

type watched struct{ leave context.CancelCauseFunc }

// watchEvery is how often a node is looked at on which somebody waits.
const watchEvery = 250 * time.Millisecond

var errLeft = errors.New("the node does not answer any more")

// watch returns ctx such that it also ends when the node does not answer, or the engine is closed. stop must be called.
func (e *Engine) watch(ctx context.Context, n *node, k driver.Key) (under context.Context, stop func()) {
	ctx, leave := context.WithCancelCause(ctx)
	w := &watched{leave}
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	if n.watch.waiters == nil {
		n.watch.waiters = map[*watched]struct{}{}
	}
	n.watch.waiters[w] = struct{}{}
	if !n.watch.looking {
		if n.watch.looking = e.begin(func() { e.look(n, k) }); !n.watch.looking {
			leave(errClosed)
		}
	}
	return ctx, func() {
		leave(nil)
		n.watch.mu.Lock()
		defer n.watch.mu.Unlock()
		delete(n.watch.waiters, w)
	}
}

// look looks at a node for as long as somebody waits there.
func (e *Engine) look(n *node, k driver.Key) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		var cause error
		select {
		case <-e.life.Done():
			cause = errClosed
		case <-tick.C:
			err := e.request(e.life, n, func(ctx context.Context) error {
				_, err := n.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
				return err
			})
			if err != nil {
				cause = errLeft
			}
		}
		n.watch.mu.Lock()
		if cause != nil {
			for w := range n.watch.waiters {
				w.leave(cause)
				delete(n.watch.waiters, w)
			}
		}
		if len(n.watch.waiters) == 0 {
			n.watch.looking = false
			n.watch.mu.Unlock()
			return
		}
		n.watch.mu.Unlock()
	}
}
