package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold-go/leasehold/driver"
)

// nodeWatch checks from time to time whether a node on which somebody waits still answers. If it does not, the contexts
// of its waiters end.
type nodeWatch struct {
	mu      sync.Mutex
	waiters map[*nodeWaiter]struct{}
	running bool
}

type nodeWaiter struct{ cancel context.CancelCauseFunc }

// nodeCheckInterval is how often a node on which somebody waits is checked.
const nodeCheckInterval = 250 * time.Millisecond

var errNodeLost = errors.New("the node does not answer any more")

// watchNode returns a context that also ends when the node does not answer, or the engine is closed. stop
// must be called.
func (e *Engine) watchNode(ctx context.Context, n *node, k driver.Key) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &nodeWaiter{cancel}
	n.watch.mu.Lock()
	defer n.watch.mu.Unlock()
	if n.watch.waiters == nil {
		n.watch.waiters = map[*nodeWaiter]struct{}{}
	}
	n.watch.waiters[w] = struct{}{}
	if !n.watch.running {
		if n.watch.running = e.goInBackground(func() { e.runWatch(n, k) }); !n.watch.running {
			cancel(errClosed)
		}
	}
	return ctx, func() {
		cancel(nil)
		n.watch.mu.Lock()
		defer n.watch.mu.Unlock()
		delete(n.watch.waiters, w)
	}
}

// runWatch checks a node for as long as somebody waits there.
func (e *Engine) runWatch(n *node, k driver.Key) {
	ticker := time.NewTicker(nodeCheckInterval)
	defer ticker.Stop()
	for {
		var cause error
		select {
		case <-e.ctx.Done():
			cause = errClosed
		case <-ticker.C:
			err := e.sendRequest(e.ctx, n, func(ctx context.Context) error {
				_, err := n.List(ctx, driver.Query{Kind: k.Kind, Name: k.Name})
				return err
			})
			if err != nil {
				cause = errNodeLost
			}
		}
		n.watch.mu.Lock()
		if cause != nil {
			for w := range n.watch.waiters {
				w.cancel(cause)
				delete(n.watch.waiters, w)
			}
		}
		if len(n.watch.waiters) == 0 {
			n.watch.running = false
			n.watch.mu.Unlock()
			return
		}
		n.watch.mu.Unlock()
	}
}
